"""``genlaws relations data-needed``: how many examples the best learner needs."""

from genlaws import relations
from genlaws.cli.questions import command_of
from genlaws.cli.relations.source import known_relation

data_needed = command_of(relations.data_needed, known_relation)
