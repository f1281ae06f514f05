# The virtual environment of the checkout, and the commands of the README. Only python3 with its venv
# module is needed. `nox --list` has the other checks: see CONTRIBUTING.rst.

PYTHON ?= python3
VENV ?= .venv
# Arguments of pytest in place of the whole suite, as TESTS='tests/entity -k pickle'.
TESTS ?= --numprocesses=logical --dist=worksteal

BIN = $(VENV)/bin
# The clients that install side by side.
EXTRAS = bench,$(shell $(PYTHON) tools/clients.py extras)
GROUPS = --group=dev
SOURCES = setup.py pyproject.toml README.rst $(wildcard tools/*.py patches/clients.py patches/*/seams.py) \
	$(wildcard lazyentity/_*.py lazyentity/native/*.pyx lazyentity/native/*.pxd)

# Tests start hundreds of processes, each of which would compile the modules that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv bench test docs clean

help: ## list the targets
	@echo "make TARGET [PYTHON=python3.12] [VENV=.venv]"
	@sed -nE 's/^([a-z]+):.*## */\1\t/p' $(MAKEFILE_LIST) | expand -t 12

venv: $(VENV)/made ## make or refresh the environment; compile the native backend if it changed

$(VENV)/made: $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "lazyentity needs Python 3.11 or newer; $(PYTHON) is not. Choose one: make PYTHON=python3.12" >&2; \
		exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
		exit 1; }
	@# Older versions of pip know no groups.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@echo "installing lazyentity, with what its tests and benchmarks need, into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable '.$(if $(EXTRAS),[$(EXTRAS)])' $(GROUPS)
	@touch $@

bench: venv ## the demonstration, then the quick microbenchmark
	$(BIN)/python -m lazyentity demo
	$(BIN)/python -m lazyentity.bench --quick

test: venv ## the tests; TESTS= chooses some
	$(BIN)/python -m pytest $(TESTS)

docs: ## build the documentation into build/docs; warnings are errors
	@$(MAKE) --no-print-directory venv VENV=.venv-docs EXTRAS= GROUPS=--group=docs
	.venv-docs/bin/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto docs build/docs

clean: ## remove what the targets made inside the checkout
	rm -rf .venv .venv-* .nox build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks \
		lazyentity-bench.json lazyentity/native/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
