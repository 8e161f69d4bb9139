"""A relation as a short text and back, so that it can travel with the settings of a computation."""

from __future__ import annotations

import base64
import binascii
import re
import zlib

import numpy as np

from genlaws.numerics.arguments import Mask
from genlaws.numerics.errors import InputError
from genlaws.relations.relation import Relation

LARGEST = 4096  # elements; their table is 2 MB before it is compressed
WRITTEN = re.compile("[1-9][0-9]{0,3}")


def relation_to_text(relation: Relation) -> str:
    """Return the number of elements and the compressed table, as ``30:eJz…``."""
    if relation.element_count > LARGEST:
        raise InputError(f"A relation as text has at most {LARGEST} elements; got {relation.element_count}.")
    packed = zlib.compress(np.packbits(relation.matrix).tobytes(), level=9)
    return f"{relation.element_count}:{base64.b64encode(packed).decode('ascii')}"


def relation_from_text(text: str, label: str = "relation") -> Relation:
    """Return the relation that :func:`relation_to_text` wrote; its elements are numbered."""
    count, colon, packed = text.partition(":")
    if not colon or not WRITTEN.fullmatch(count) or int(count) > LARGEST:
        raise InputError(
            f"A relation as text must begin with its number of elements, at most {LARGEST}, and a colon; "
            f"got {text[:20]!r}."
        )
    size = int(count) ** 2
    table = _unpacked(packed, size)
    return Relation.from_matrix(table.reshape(int(count), int(count)), label=label)


def _unpacked(packed: str, size: int) -> Mask:
    """Return the bits of a text; never more bytes than they take are unpacked, whatever the text claims."""
    expected = -(-size // 8)
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(packed, validate=True), max_length=expected + 1)
    except (binascii.Error, zlib.error, ValueError):
        raise InputError("A relation as text must hold a table as relation_to_text writes it.") from None
    if len(data) != expected:
        got = f"{len(data)}" if len(data) < expected else "more"
        raise InputError(f"A relation as text must hold {expected} bytes for its table; got {got}.")
    table = np.unpackbits(np.frombuffer(data, dtype=np.uint8)).astype(bool)
    if not inflate.eof or inflate.unused_data or table[size:].any():
        raise InputError("A relation as text must end where its table does; it was cut short or something was added.")
    return table[:size]
