"""The parameters that a docstring describes."""

import inspect

from numpydoc.docscrape import NumpyDocString


def documented_parameters(function) -> list[str]:
    """Return the names in the section on parameters, in order."""
    sections = NumpyDocString(inspect.getdoc(function) or "")
    return [name.strip() for entry in sections["Parameters"] for name in entry.name.split(",")]
