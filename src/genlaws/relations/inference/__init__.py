"""What can be inferred from some entries of a relation: posteriors, the Bayes bound, the next pair to query."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
