"""The parameters of the questions about sweeps, each described once."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Annotated

from genlaws.core.arguments import whole_number
from genlaws.core.parameters import Parameter

FORMATS = {"csv": ".csv", "parquet": ".parquet", "netcdf": ".nc"}

Folder = Annotated[str | PathLike[str], Parameter("Folder of the sweep.")]
Retries = Annotated[int, Parameter("How often a cell that failed is tried again, over all runs.", check=whole_number)]
StopAfter = Annotated[
    int,
    Parameter("Stop when this many cells in a row fail in the same way.", check=partial(whole_number, at_least=1)),
]
Tracebacks = Annotated[bool, Parameter("Give the traceback of each cell that failed, too.")]
Format = Annotated[str, Parameter("Format of the file.", choices=tuple(FORMATS))]
File = Annotated[str | PathLike[str] | None, Parameter("File to write; in the folder of the sweep if left out.")]
