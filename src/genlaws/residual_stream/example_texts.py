"""Short texts to read a model's stream with where a reader has none at hand; all end differently."""

from __future__ import annotations

from genlaws.numerics.arguments import whole_number

SUBJECTS = (
    *("The old bridge", "A young painter", "The second battalion", "Her first album", "The village church"),
    *("A storm from the west", "The night train", "His younger sister", "A letter from the coast", "The new road"),
)
EVENTS = (
    *("was last seen near the", "had little to do with the", "changed what people thought of the"),
    *("came long before the", "is still remembered for the", "was hidden behind the"),
)
ENDS = (
    *("harbour", "market", "river", "library", "garden", "castle", "station", "forest", "school", "factory", "museum"),
    *("island", "palace", "bakery", "tower", "valley", "prison", "hospital", "theatre", "stadium", "temple", "lake"),
    *("desert", "farm", "mill", "cave", "square", "hotel", "border", "canal", "mountain", "cottage", "kitchen"),
    *("king", "doctor", "soldier", "teacher", "sailor", "poet", "judge", "farmer", "queen", "writer", "singer"),
    *("war", "winter", "flood", "harvest", "election", "concert", "wedding", "trial", "strike", "parade", "fire"),
    *("horse", "wolf", "clock", "ship", "piano"),
)
MOST = len(SUBJECTS) * len(EVENTS) * len(ENDS)
# Lines of Python that write the first `count` of them to a file, for a command that reads it.
WRITING = (
    "import pathlib, sys; from genlaws.residual_stream.example_texts import example_texts; "
    'pathlib.Path(sys.argv[1]).write_text("\\n".join(example_texts({count})))'
)


def example_texts(count: int = 120) -> tuple[str, ...]:
    """Return different sentences without a full stop; 60 in a row end with 60 different words.

    Parameters
    ----------
    count : int in [1, 3600]
    """
    whole_number("count", count, at_least=1, at_most=MOST)
    ways = len(SUBJECTS) * len(EVENTS)
    found = []
    for number in range(count):
        round_, end = divmod(number, len(ENDS))
        way = (number * 7 + round_) % ways  # 7 and the 60 ways have no common factor
        subject, event = SUBJECTS[way % len(SUBJECTS)], EVENTS[way // len(SUBJECTS)]
        found.append(f"{subject} {event} {ENDS[end]}")
    return tuple(found)
