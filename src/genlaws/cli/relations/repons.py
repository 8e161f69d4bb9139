"""``genlaws relations repons``: how likely the representations of one class merge, and what decides it."""

from genlaws import relations
from genlaws.cli.questions import command_of

repons = command_of(relations.merging_probability)
