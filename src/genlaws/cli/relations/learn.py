"""``genlaws relations learn``: train networks on a relation and report their accuracies and phases."""

from genlaws import relations
from genlaws.cli.questions import command_of
from genlaws.cli.relations.source import one_relation

learn = command_of(
    relations.learn_relation,
    one_relation,
    about="With --out a folder is written: the networks, their curves, the final embeddings of one of them, and a page "
    "that plays its training.",
)
