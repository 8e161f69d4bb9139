"""``genlaws relations advise``: how much data and which learning rates a network needs to learn a relation."""

from genlaws import relations
from genlaws.cli.questions import command_of
from genlaws.cli.relations.source import one_relation

advise = command_of(
    relations.advise_relation,
    one_relation,
    about="The number of entries for the best learner is exact; the number for the network and the ratio are measured "
    "by a pilot. It takes about a minute for 30 elements, seconds with --quick.",
)
