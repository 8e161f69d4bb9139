"""Versions of libraries, for records of what a number was computed with."""

import numpy as np

from genlaws.core.imports import installed_versions


def test_versions_are_those_of_what_is_installed():
    assert installed_versions(["numpy", "a-library-that-is-not-there"]) == {"numpy": np.__version__}
