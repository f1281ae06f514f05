# Everything runs in a virtual environment that these targets make and refresh by themselves; only
# python3 with its venv module is needed. `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
# An executable of uv, which makes environments faster than pip.
UV ?=
# The extras of lazyentity and the groups of pyproject.toml to install, and further requirements, as
# google-cloud-datastore==2.19. Some clients need newer requirements than the rest; clients with a
# separate environment are left out.
EXTRAS ?= bench,$(shell $(PYTHON) tools/clients.py extras 2>/dev/null)
GROUPS ?= test,adapters,consumers,alternatives
REQUIRE ?=
# The part of a target that is meant: see `make help`.
WHAT =
CLIENT =
# Arguments of pytest, and further ones.
TESTS =
PYTEST_ARGS ?=
# How many processes run the tests; 0 runs them in pytest's own, as a debugger needs it.
WORKERS ?= logical
# The folder of the built distributions.
DIST ?= dist
# The seconds that each fuzzer runs, and the seed of its cases.
SECONDS ?= 60
SEED ?= 1

BIN = $(abspath $(VENV))/bin

# Tests start hundreds of processes, each of which would compile the modules that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv bench test lint types results fuzz docs dist clean

help: ## list the targets
	@echo "make TARGET [PYTHON=python3.12] [VENV=.venv]"
	@sed -nE 's/^([a-z]+):.*## */\1\t/p' $(MAKEFILE_LIST) | expand -t 12
	@sed -nE 's/^#: ?(.*)/\1/p' $(MAKEFILE_LIST)

venv: ## make or refresh the environment, keyed on the interpreter, the requirements and native sources
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "lazyentity needs Python 3.11 or newer; $(PYTHON) is not. Choose one: make PYTHON=python3.12" >&2; \
		exit 1; }
	@$(PYTHON) tools/environment.py $(if $(UV),--uv $(UV)) --extras=$(EXTRAS) --groups=$(GROUPS) $(VENV) $(REQUIRE)

bench: venv ## the demonstration, then the quick microbenchmark
	$(BIN)/python -m lazyentity demo
	$(BIN)/python -m lazyentity.bench --quick

lint: venv ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: venv ## mypy --strict
	$(BIN)/mypy --strict lazyentity tests tools setup.py

# The variables of each part; BEFORE installs programs, and runs the command after it.
#:
#: make test TESTS='tests/entity -k pickle' runs these alone, in this environment.
#: make test WHAT=... runs further tests:
ifneq ($(filter appengine beam,$(WHAT)),)
CLIENT := $(WHAT)
endif
ifneq ($(CLIENT),)
#:   CLIENT=beam in its place: a client's tests, in a separate environment
VENV := .venv-$(CLIENT)
EXTRAS := bench,$(CLIENT)
GROUPS := test
TESTS = tests/patches/$(subst -,_,$(CLIENT)) tests/patches/clients
else ifeq ($(WHAT),pytest)
#:   pytest      the tests of `make test`, without ruff and mypy
TESTS = -n $(WORKERS) --dist worksteal
else ifeq ($(WHAT),upstream)
#:   upstream    the unit tests of the clients themselves, under the patch
TESTS = -m upstream tests/upstream $(shell grep -l mark.upstream tests/patches/*/test_own_tests.py)
else ifeq ($(WHAT),libraries)
#:   libraries   the adapted libraries' own tests and CPython's, stock and patched, some minutes
VENV := .venv-libraries
EXTRAS := bench,firestore
GROUPS := test,adapters,libraries
TESTS = -m upstream tests/libraries
else ifeq ($(WHAT),lowest)
#:   lowest      the tests of the adapters with the oldest pydantic, FastAPI and encoders
VENV := .venv-adapters
EXTRAS := bench
GROUPS := test
REQUIRE := pydantic==2.8.0 fastapi==0.115.0 sqlmodel==0.0.22 orjson==3.10.0 msgspec==0.18.6 pandas==2.2.3 uvicorn
TESTS = -o filterwarnings=default tests/adapters/test_uses.py tests/adapters/test_service.py \
	tests/adapters/test_pydantic_depth.py tests/adapters/test_pydantic_functions.py
else ifeq ($(WHAT),names)
#:   names       every private name of the clients that is used is changed, one at a time
TESTS = -m slow tests/versions
else ifeq ($(WHAT),caches)
#:   caches      with real cache servers, Redis and memcached
BEFORE = tools/install packages redis-server=redis-server memcached=memcached &&
TESTS = -m 'redis or memcache' tests/patches/ndb
else ifeq ($(WHAT),emulator)
#:   emulator    against the Rust Datastore emulator, and Google's where it is
BEFORE = root=$$(tools/install emulator) && LAZYENTITY_TEST_EMULATOR=$$root/bin/datastore-emulator
TESTS = -m emulator tests/integration tests/patches
else ifeq ($(WHAT),flink)
#:   flink       a pipeline of Beam on Flink, which listens on all interfaces
VENV := .venv-beam
EXTRAS := bench,beam
GROUPS := test
BEFORE = root=$$(tools/install flink) && LAZYENTITY_TEST_FLINK=$$root tools/loopback-only
TESTS = -m engines tests/patches/beam
endif

ifneq ($(TESTS),)
test: venv
	$(BEFORE) $(BIN)/python -m pytest $(TESTS) $(PYTEST_ARGS)
else ifeq ($(WHAT),)
test: lint ## ruff, then mypy --strict beside pytest; TESTS=, WHAT= and CLIENT= choose others
	@$(MAKE) --no-print-directory --jobs=2 types test WHAT=pytest
else
test:
	$(error there are no tests WHAT=$(WHAT); `make help` lists them)
endif

#:
#: make results WHAT=... measures a part for the documentation, some minutes each, and writes the tables:
define measure_all
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench \
		--output bench/results/native.json --plot bench/results/native.svg
	LAZYENTITY_BACKEND=pure $(BIN)/python -m lazyentity.bench --quick --output bench/results/pure.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench --ndb --output bench/results/ndb.json
	$(MAKE) results WHAT=appengine
	$(MAKE) results WHAT=beam
	$(MAKE) results WHAT=many
endef
#:   many        calls on many entities, snapshots, documents, adapters, Firestore
define measure_many
	for each in bulk snapshot cache alternatives calls firestore-documents firestore-writes; do \
		LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure $$each \
		--output bench/results/$$each.json || exit 1; done
	for each in firestore-documents firestore-writes; do LAZYENTITY_BACKEND=pure \
		$(BIN)/python -m lazyentity.bench.measure $$each --output bench/results/$$each-pure.json || exit 1; done
	for backend in native pure; do for room in packed columns; do LAZYENTITY_BACKEND=$$backend \
		$(BIN)/python -m lazyentity.bench --$$room --quick \
		--output bench/results/$$room-$$backend.json || exit 1; done; done
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.example \
		--output bench/results/own.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench --adapters --quick \
		--output bench/results/adapters.json
endef
#:   beam        Apache Beam's connector
define measure_beam
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure beam-connector \
		--output bench/results/beam-connector.json
endef
#:   appengine   App Engine's client
define measure_appengine
	for backend in native pure; do LAZYENTITY_BACKEND=$$backend $(BIN)/python \
		-m lazyentity.bench --appengine --quick --output bench/results/appengine-$$backend.json || exit 1; done
endef
#:   tables      nothing: only the tables of the results and the list of clients are written
define measure_tables
	@:
endef

results: venv ## measure for the documentation, half an hour on a quiet machine: bench/results/ and its tables
	$(or $(measure_$(or $(WHAT),all)),$(error there are no results WHAT=$(WHAT); `make help` lists them))
	$(BIN)/python tools/tables.py

# The bytes have AddressSanitizer and UBSan, and the native backend alone, as the calls of its modules.
FUZZERS = bytes operations changes responses calls snapshots interruptions graphs
#:
#: make fuzz WHAT=... fuzzes against stock for SECONDS, half with each backend:
#:   bytes operations changes responses calls snapshots interruptions graphs
#:   all         each of them for ten times SECONDS
ifeq ($(WHAT),all)
fuzz:
	set -e; for each in $(FUZZERS); do \
		$(MAKE) --no-print-directory fuzz WHAT=$$each SECONDS=$$((10 * $(SECONDS))); done
else ifeq ($(or $(WHAT),bytes),bytes)
fuzz: ## fuzz the native backend for SECONDS, with AddressSanitizer and UBSan; WHAT= chooses another fuzzer
	UV=$(UV) tools/fuzz "$(PYTHON)" "$(SECONDS)"
else
fuzz: backends = $(if $(filter calls,$(WHAT)),native,native pure)
fuzz: venv
	status=0; for backend in $(backends); do LAZYENTITY_BACKEND=$$backend $(BIN)/python -m tests.fuzz.$(WHAT) \
		--seconds $$(($(SECONDS) / $(words $(backends)))) --seed $(SEED) || status=1; done; exit $$status
endif

docs: ## build the documentation into build/docs; warnings are errors
	@$(MAKE) --no-print-directory venv VENV=.venv-docs EXTRAS= GROUPS=docs
	.venv-docs/bin/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto docs build/docs

dist: venv ## the source distribution and the wheel, and a check of what they hold
	$(BIN)/python tools/check_dist.py $(if $(UV),--uv $(UV)) $(DIST)

clean: ## remove what the targets made inside the checkout
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks \
		lazyentity-bench.json lazyentity/*.so lazyentity/native/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
