"""Rows of a table by their numbers, and the gradient back into the table, in the same order every time."""

from __future__ import annotations

import torch
from torch import Tensor

from genlaws.ensembles.architecture import Workspace


def look_up(table: Tensor, index: Tensor) -> Tensor:
    """Return rows of each network's table.

    Parameters
    ----------
    table : tensor of shape (networks, entries, width)
    index : integer tensor of shape (networks or 1, rows)

    Returns
    -------
    tensor of shape (networks, rows, width)
    """
    networks, _, width = table.shape
    return torch.gather(table, 1, index.unsqueeze(2).expand(networks, index.shape[1], width))


def sum_by_entry(
    values: Tensor, index: Tensor, entries: int, space: Workspace | None = None, name: str = "index"
) -> Tensor:
    """Return the sum of the rows that belong to each entry, (networks, entries, width).

    On a graphics processor rows are summed by a product with a matrix of zeros and ones: atomic additions come in a
    different order each time, and a training could not be repeated bit for bit.

    Parameters
    ----------
    values : tensor of shape (networks, rows, width)
    index : integer tensor of shape (networks or 1, rows)
    entries : int
    space : Workspace, optional
        Where the matrix is kept as long as the index is the very same tensor.
    name : str
        Under which it is kept.
    """
    networks, rows, width = values.shape
    if values.is_cuda:

        def members(found: Tensor) -> Tensor:
            """Return 1 where a row belongs to an entry."""
            return (found.unsqueeze(1) == torch.arange(entries, device=found.device)[:, None]).to(values.dtype)

        kept = members(index) if space is None else space.kept(name, index, members)
        return kept.expand(networks, entries, rows) @ values
    first = torch.arange(networks, device=index.device).unsqueeze(1) * entries
    flat = (index + first).reshape(-1)
    total = torch.zeros(networks * entries, width, dtype=values.dtype)
    return total.index_add_(0, flat, values.reshape(-1, width)).view(networks, entries, width)


def sum_by_pair(values: Tensor, row: Tensor, column: Tensor, entries: int) -> Tensor:
    """Return the sum of the numbers that belong to each pair of entries, (networks, entries, entries).

    Parameters
    ----------
    values : tensor of shape (networks, numbers)
    row, column : integer tensors of shape (networks, numbers)
    """
    if values.is_cuda:
        every = torch.arange(entries, device=values.device)
        rows = (row.unsqueeze(2) == every) * values.unsqueeze(2)
        columns = (column.unsqueeze(2) == every).to(values.dtype)
        return rows.transpose(1, 2) @ columns
    first = torch.arange(len(values)).unsqueeze(1) * entries**2
    flat = (first + row * entries + column).reshape(-1)
    total = torch.zeros(len(values) * entries**2, dtype=values.dtype)
    return total.index_add_(0, flat, values.reshape(-1)).view(len(values), entries, entries)
