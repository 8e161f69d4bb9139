"""Take a graph apart at the vertices whose removal would disconnect it."""

from __future__ import annotations

from collections.abc import Sequence

Neighbours = Sequence[frozenset[int]]


def connected_blocks(neighbours: Neighbours) -> list[list[tuple[list[int], int | None]]]:
    """Return for each connected part of the graph its blocks, each with the vertex it hangs on.

    A block is a largest set of vertices that stays connected when any one of them is removed; a bridge is a block of
    two. Blocks are listed so that all but the first share exactly one vertex with those before: the one returned beside
    them. A vertex without neighbours is a block of its own.
    """
    seen: set[int] = set()
    parts = []
    for root in range(len(neighbours)):
        if root not in seen:
            found = _blocks_from(root, neighbours)
            seen.update(*found, {root})
            parts.append(_from_the_root(found, root))
    return parts


def _blocks_from(root: int, neighbours: Neighbours) -> list[list[int]]:
    """Return the blocks of one connected part by depth-first search (Hopcroft and Tarjan 1973), without recursion."""
    depth, low, parent = {root: 0}, {root: 0}, {root: root}
    stack, path, blocks = [root], [(root, iter(neighbours[root]))], []
    while path:
        vertex, rest = path[-1]
        child = next(rest, None)
        if child is None:
            path.pop()
            above = parent[vertex]
            if vertex != root:
                low[above] = min(low[above], low[vertex])
                if low[vertex] >= depth[above]:  # nothing below reaches past `above`: a block ends here
                    start = stack.index(vertex)
                    blocks.append([above, *stack[start:]])
                    del stack[start:]
        elif child not in depth:
            depth[child] = low[child] = depth[vertex] + 1
            parent[child] = vertex
            stack.append(child)
            path.append((child, iter(neighbours[child])))
        elif child != parent[vertex]:
            low[vertex] = min(low[vertex], depth[child])
    return blocks


def _from_the_root(found: list[list[int]], root: int) -> list[tuple[list[int], int | None]]:
    """Return the blocks with what they hang on; the search ends a block after all that hang on it, so turn it round."""
    if not found:
        return [([root], None)]
    ordered = found[::-1]
    return [(ordered[0], None), *((block, block[0]) for block in ordered[1:])]
