# The only commands to learn. Each sets up what it needs in .venv.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# One more than there are cores: many tests wait for a server or a process.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))

.PHONY: demo test engines frameworks platforms check lint types layers bench docs format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    set up, ask the embedded pipeline, judge it"
	@echo "make test    set up, run all tests"
	@echo "make check   lint, types, layers, tests"
	@echo "make bench   measure against the named peers"
	@echo "make docs    write the generated pages and the documentation site"

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

demo: $(VENV)/.base
	@$(BIN)/shipworthy demo

# Compiled first: hundreds of tests start the command, and where byte code is not kept each start compiles it anew.
test: $(VENV)/.dev
	@$(BIN)/python -m compileall -q src tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The tests of every suite again, evaluated by the other engines; tests/engines/under.py has them.
EVERY_ENGINE := tests/reading/test_same_in_every_format.py::test_the_same_records_give_the_same_report_in_every_format
ENGINES := disk disk-2 scattered-1 dask
engines: $(VENV)/.dev
	@for engine in $(ENGINES); do echo "== $$engine"; \
	  SHIPWORTHY_ENGINE=$$engine $(BIN)/python -m pytest tests/suites $(EVERY_ENGINE) -n $(WORKERS) --dist worksteal || exit 1; done

# Services on the real libraries, which are installed in .bench/frameworks.
frameworks: $(VENV)/.dev
	$(BIN)/python benchmarks/environments.py frameworks
	$(BIN)/python -m pytest -m slow tests/frameworks

# A real Phoenix and a real MLflow, each installed in .bench.
platforms: $(VENV)/.dev
	$(BIN)/python benchmarks/environments.py phoenix mlflow
	$(BIN)/python -m pytest -m slow tests/importers/test_platforms.py

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks docs examples
	$(BIN)/ruff format --check src tests benchmarks docs examples

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports

check: lint types layers test

format: $(VENV)/.dev
	$(BIN)/ruff check --fix-only --quiet src tests benchmarks docs examples
	$(BIN)/ruff format --quiet src tests benchmarks docs examples

# The environments of other tools are kept in .bench.
bench: $(VENV)/.dev
	@for bench in benchmarks/[a-z]*.py; do echo "== $$bench"; $(BIN)/python $$bench || exit 1; done

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py
	$(BIN)/python -m sphinx --fail-on-warning --nitpicky --quiet -b html docs build/docs
	@echo "build/docs/index.html"

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
