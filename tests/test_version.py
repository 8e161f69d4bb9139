"""The version of the package: that which is installed, or that there is none."""

import importlib.metadata

import pytest

import genlaws


def test_the_version_is_that_of_the_installed_package(monkeypatch):
    asked = []
    monkeypatch.setattr(importlib.metadata, "version", lambda name: asked.append(name) or "1.2.3")
    assert genlaws.__version__ == "1.2.3"
    assert asked == ["genlaws"]


def test_a_checkout_that_is_not_installed_says_so(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert genlaws.__version__ == "from source"


def test_nothing_else_is_made_up():
    with pytest.raises(AttributeError, match="module 'genlaws' has no attribute 'version'"):
        _ = genlaws.version
