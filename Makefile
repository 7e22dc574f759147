# Two commands set everything up on a machine with Python 3.11+, git and make:
#   make demo    several nights over sample_data/
#   make test    the tests
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two processes: what a small machine has; tests do not depend on it.
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test soak check docs format lock clean

help: ## show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## grade several nights of sample_data/ into demo/ and say what to open
	@$(BIN)/python sample_data/demo.py

test: $(STAMP) ## run the tests (under 15 minutes)
	@tests/browser/install.sh
	@tests/objects/install.sh $(BIN)/python
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not soak" $(ARGS)

soak: $(STAMP) ## run the long tests: all vectors, kills, large corpora
	@tests/objects/install.sh $(BIN)/python
	$(BIN)/python -m pytest -m soak $(ARGS)

check: $(STAMP) ## format, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP) ## build the documentation into site/
	$(BIN)/zensical build --strict -f mkdocs.yml

format: $(STAMP) ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## pin the versions of everything anew
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --universal --quiet --no-header --no-annotate \
	    --extra dev --extra flows --extra dask --extra inspect --extra docs \
	    --extra bench --python-version 3.11 -o requirements.lock

clean: ## remove the environment, the demo and caches
	rm -rf $(VENV) demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis
