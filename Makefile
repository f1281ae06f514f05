# Everything runs in a virtual environment that these targets make and refresh by themselves;
# python3 with its venv module is all that has to be there. `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
# Further requirements for the environment, e.g. REQUIRE=google-cloud-datastore==2.20.2
REQUIRE ?=
# What is installed of lazyentity itself. google-cloud-ndb wants newer requirements than the rest.
EXTRAS ?= bench,test,ndb
PYTEST_ARGS ?=
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lazyentity
EMULATOR_ROOT ?= $(CACHE)/emulator
# How long `make fuzz` fuzzes.
SECONDS ?= 60

BIN := $(abspath $(VENV))/bin

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv bench test lint types pytest upstream emulator test-emulator test-caches fuzz dist clean

help: ## list the targets
	@echo "make TARGET [PYTHON=python3.12] [VENV=.venv]"
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 16

bench: venv ## the demonstration, then the quick microbenchmark
	$(BIN)/python -m lazyentity.bench.demo
	$(BIN)/python -m lazyentity.bench --quick

test: lint types pytest ## ruff, mypy --strict and pytest

lint: venv ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy does not read the package_dir mapping of setup.py: it is shown the tree that installing makes.
types: venv ## mypy --strict
	rm -rf build/types
	mkdir -p build/types/lazyentity
	ln -s $(CURDIR)/lazyentity/* $(CURDIR)/patches $(CURDIR)/bench build/types/lazyentity/
	$(BIN)/mypy --strict build/types/lazyentity tests tools fuzz setup.py

pytest: venv ## the tests; PYTEST_ARGS= passes options
	$(BIN)/python -m pytest $(PYTEST_ARGS)

upstream: venv ## the unit tests of google-cloud-datastore itself, under the patch
	$(BIN)/python -m pytest tests/upstream -m upstream $(PYTEST_ARGS)

emulator: ## install the Rust Datastore emulator, once, outside the checkout
	tools/install-emulator $(EMULATOR_ROOT)

test-emulator: venv emulator ## the integration tests against that emulator
	LAZYENTITY_TEST_EMULATOR=$(EMULATOR_ROOT)/bin/datastore-emulator \
		$(BIN)/python -m pytest -m emulator $(PYTEST_ARGS)

test-caches: venv ## the tests of ndb's global cache against Redis and memcached
	tools/install-caches
	$(BIN)/python -m pytest -m 'redis or memcache' $(PYTEST_ARGS)

venv: # make or refresh $(VENV), keyed on the interpreter and the requirements
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "lazyentity needs Python 3.10 or newer; $(PYTHON) is not. Choose one: make PYTHON=python3.12" >&2; \
		exit 1; }
	@$(PYTHON) tools/environment.py $(VENV) $(EXTRAS) $(REQUIRE)

fuzz: ## fuzz the native backend for SECONDS, with AddressSanitizer and UBSan
	tools/fuzz "$(PYTHON)" "$(SECONDS)"

dist: venv ## the source distribution and the wheel, and a check of what they hold
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python tools/check_dist.py dist

clean: ## remove what the targets made inside the checkout
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks \
		lazyentity-bench.json lazyentity/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
