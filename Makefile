# `make run` and `make test` set everything up on a fresh machine; `make help` lists the rest.

PYTHON  ?= python3
JOBS    ?= 2
REPORT  ?= out/report.html
OUT     ?= out/figures
FIGURES ?= rules-facts.1 rules-facts.3 semanticity.front relations.table2 relations.4

# What `make check` runs: no browser, no drawing, no loaded models, no processes that are killed.
QUICK_TESTS := tests/test_architecture.py tests/test_names.py tests/golden tests/core tests/contracts \
	tests/semanticity tests/rules_facts tests/relations tests/residual_stream

VENV := .venv
BIN  := $(VENV)/bin

# One thread per process: the tests already run in $(JOBS) processes, and small matrices gain nothing from two.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# When two makes start at once, the second waits until the first has installed. Without flock they do not wait.
LOCK := $(if $(shell command -v flock 2>/dev/null),flock Makefile,)

# The environment is usable if it was made in this folder, no installation in it was cut short, and its Python starts.
USABLE := $(shell grep -qsF '$(CURDIR)/$(VENV)' $(BIN)/activate && test ! -e $(VENV)/.unfinished && \
	$(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo yes)

.DEFAULT_GOAL := help
.PHONY: help run figures explore test check lint docs bench clean page dev fresh-venv

help:  ## list these targets
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /|/' | awk -F'|' '{ printf "  make %-8s %s\n", $$1, $$2 }'

run: page  ## set up and write the report, one page that needs no network (REPORT=file)
	@$(ONE_THREAD) $(BIN)/genlaws report --out "$(REPORT)"

figures: page  ## draw the main figures of the papers (OUT=folder)
	@$(ONE_THREAD) $(BIN)/genlaws figure $(FIGURES) --out "$(OUT)"

explore: page  ## open the page with sliders in the browser
	@$(ONE_THREAD) $(BIN)/genlaws explore

test: lint  ## set up, check the style and the types, run the whole suite (JOBS=processes)
	@echo "Running the tests in $(JOBS) processes"
	@$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

check: lint  ## check the style and the types, compare the quick golden answers, test the four systems (minutes)
	@echo "Comparing golden answers and testing the systems in $(JOBS) processes"
	@$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder $(QUICK_TESTS)

lint: dev  ## check style, format and types
	@echo "Checking style, format and types"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: dev  ## build the documentation into docs/_build/html
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

bench: dev  ## run every benchmark and print its ratios
	@for file in benchmarks/*.py; do \
		test -e "$$file" || { echo "There is no benchmark yet."; break; }; \
		echo "Running $$file"; $(ONE_THREAD) $(BIN)/python "$$file" || exit 1; \
	done

clean:  ## remove .venv, caches and builds; results under out/ stay
	@$(LOCK) rm -rf $(VENV)
	@rm -rf build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find src tests benchmarks studies docs -name __pycache__ -type d -prune -exec rm -rf {} +

# The installation runs in a make of its own, under the lock, so that it looks at the stamps after the wait.
page:
	@$(LOCK) $(MAKE) -s --no-print-directory $(VENV)/.installed

dev:
	@$(LOCK) $(MAKE) -s --no-print-directory $(VENV)/.installed-dev

fresh-venv:
	@command -v $(PYTHON) >/dev/null || { \
		echo "genlaws needs Python 3.11 or newer, and there is no '$(PYTHON)' here. Install it, or name one: make PYTHON=python3.12 run" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "genlaws needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name a newer one: make PYTHON=python3.12 run" >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)

# .unfinished becomes the stamp only when pip is done. So the stamp bears the time of the start, and an edit made
# meanwhile counts as newer. A plain failure of pip leaves the environment usable; a killed pip does not.
define install
	@stopped=no; trap 'stopped=yes' INT TERM HUP; touch $(VENV)/.unfinished; status=0; \
	$(BIN)/python -m pip install -qq --no-input --disable-pip-version-check -c constraints.txt -e '$(1)' || status=$$?; \
	if [ $$status -eq 0 ] && [ -n '$(2)' ]; then \
		$(BIN)/python -m pip install -qq --no-input --disable-pip-version-check --no-deps -r '$(2)' || status=$$?; fi; \
	if [ $$status -eq 0 ]; then mv $(VENV)/.unfinished $@; \
	else if [ $$status -eq 1 ] && [ $$stopped = no ]; then rm -f $(VENV)/.unfinished; fi; \
		echo "The installation failed; pip's message is above." >&2; exit 1; fi
endef

COMMA := ,
PAGE_EXTRAS := networks$(COMMA)page

STALE := pyproject.toml constraints.txt weights.txt $(if $(USABLE),,fresh-venv)

$(VENV)/.installed: $(STALE)
	@echo "Installing genlaws into $(VENV), with torch for its small networks and plotly for its page"
	$(call install,.[$(PAGE_EXTRAS)],)

$(VENV)/.installed-dev: $(STALE)
	@echo "Installing genlaws and the tools of the dev extra into $(VENV)"
	$(call install,.[dev],weights.txt)
	@touch -r $@ $(VENV)/.installed
