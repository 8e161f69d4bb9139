"""How long does the command take to start, compared with Python itself?

python benchmarks/cold_start.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

REPEATS = 10
# A virtual environment has its commands next to its interpreter.
COMMAND = Path(sys.executable).parent / "genlaws"

CASES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    'python -c "import numpy"': [sys.executable, "-c", "import numpy"],
    'python -c "import genlaws"': [sys.executable, "-c", "import genlaws"],
    'python -c "import genlaws.rules_facts"': [sys.executable, "-c", "import genlaws.rules_facts"],
    'python -c "import numpy, scipy.special"': [sys.executable, "-c", "import numpy, scipy.special"],
    "first rules_facts.solve": [
        sys.executable,
        "-c",
        "from genlaws import rules_facts; rules_facts.solve(sample_ratio=10, fact_fraction=0.2)",
    ],
    "genlaws --help": [str(COMMAND), "--help"],
}

# What a command may cost, compared with what it cannot do without.
BOUNDS = {
    "genlaws --help": ('python -c "import numpy"', 1.2),
    "first rules_facts.solve": ('python -c "import numpy, scipy.special"', 1.2),
}


def run_once(command, environment):
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    return time.perf_counter() - start, done


def main():
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a reader has the compiled modules
    times = {}
    for name, command in CASES.items():
        if not Path(command[0]).exists():
            print(f"{name}: {command[0]} does not exist; install the package first")
            continue
        _, done = run_once(command, environment)  # the first run compiles to bytecode
        if done.returncode:
            print(f"{name}: failed with exit status {done.returncode}: {done.stderr.decode().strip().splitlines()[-1]}")
            continue
        times[name] = []
    for _ in range(REPEATS):
        for name, values in times.items():
            values.append(run_once(CASES[name], environment)[0])
    bare, numpy = median(times["python -c pass"]), median(times['python -c "import numpy"'])
    print(f"medians of {REPEATS} alternating runs")
    print(f"{'command':40} {'ms':>7} {'to bare python':>15} {'to import numpy':>16}")
    for name, values in times.items():
        value = median(values)
        print(f"{name:40} {1e3 * value:7.1f} {value / bare:15.2f} {value / numpy:16.2f}")
    for name, (base, bound) in BOUNDS.items():
        if name in times:
            ratio = median(times[name]) / median(times[base])
            print(f"{name}: {ratio:.2f} times {base} (bound {bound})")


if __name__ == "__main__":
    main()
