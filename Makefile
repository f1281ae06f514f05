# Everything runs in a virtual environment that these targets make and refresh by themselves; only
# python3 with its venv module is needed. `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
# Further requirements for the environment, e.g. REQUIRE=google-cloud-datastore==2.19
REQUIRE ?=
# The extras of lazyentity to install. Some clients need newer requirements than the rest; those with
# an environment of their own are left out.
EXTRAS ?= bench,test,adapters,consumers,$(shell $(PYTHON) tools/clients.py extras 2>/dev/null)
PYTEST_ARGS ?=
# How many processes run the tests; 0 runs them in pytest's own, as a debugger needs it.
WORKERS ?= logical
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lazyentity
EMULATOR_ROOT ?= $(CACHE)/emulator
# Beam's job server with an embedded Flink; the versions are in tools/flink/pom.xml.
FLINK ?= $(CACHE)/flink/1.19-2.70.0
# The folder of the built distributions.
DIST ?= dist
# An executable of uv, which makes environments faster than pip.
UV ?=
# The seconds that each fuzzer runs, and the seed of its cases.
SECONDS ?= 60
SEED ?= 1

BIN := $(abspath $(VENV))/bin

.DEFAULT_GOAL := help
.PHONY: help venv bench results results-many results-beam results-appengine test lint types pytest \
	upstream emulator test-adapters-lowest test-libraries test-emulator test-caches test-names test-client \
	flink test-engines docs tables fuzz fuzz-operations fuzz-changes fuzz-responses fuzz-calls \
	fuzz-snapshots fuzz-interruptions fuzz-graphs fuzz-all dist clean

help: ## list the targets
	@echo "make TARGET [PYTHON=python3.12] [VENV=.venv]"
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 16

bench: venv ## the demonstration, then the quick microbenchmark
	$(BIN)/python -m lazyentity demo
	$(BIN)/python -m lazyentity.bench --quick

results: venv ## measure for the documentation, half an hour on a quiet machine: bench/results/ and its tables
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench \
		--output bench/results/native.json --plot bench/results/native.svg
	LAZYENTITY_BACKEND=pure $(BIN)/python -m lazyentity.bench --quick --output bench/results/pure.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench --ndb --output bench/results/ndb.json
	$(MAKE) results-appengine
	$(MAKE) results-beam
	$(MAKE) results-many

results-many: venv ## measure what deals with many entities, some minutes: bench/results/ and its tables
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.bulk --output bench/results/bulk.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.snapshots \
		--rounds 1 --output bench/results/snapshot.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.cached --output bench/results/cache.json
	for backend in native pure; do for room in packed columns; do LAZYENTITY_BACKEND=$$backend \
		$(BIN)/python -m lazyentity.bench --$$room --quick \
		--output bench/results/$$room-$$backend.json || exit 1; done; done
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.alternatives \
		--output bench/results/alternatives.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.calls --output bench/results/calls.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.example \
		--output bench/results/own.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench --adapters --quick \
		--output bench/results/adapters.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.firestore \
		--output bench/results/firestore-documents.json
	LAZYENTITY_BACKEND=native $(BIN)/python -m lazyentity.bench.measure.firestore \
		--writes --output bench/results/firestore-writes.json
	LAZYENTITY_BACKEND=pure $(BIN)/python -m lazyentity.bench.measure.firestore \
		--output bench/results/firestore-documents-pure.json
	LAZYENTITY_BACKEND=pure $(BIN)/python -m lazyentity.bench.measure.firestore \
		--writes --output bench/results/firestore-writes-pure.json
	$(MAKE) tables

results-beam: ## measure Apache Beam's connector, some minutes: bench/results/ and docs/beam.rst
	$(MAKE) venv VENV=.venv-beam EXTRAS=bench,test,beam
	LAZYENTITY_BACKEND=native .venv-beam/bin/python -m lazyentity.bench.measure.beam \
		--output bench/results/beam-connector.json
	$(MAKE) tables

results-appengine: ## measure App Engine's client, some minutes: bench/results/ and docs/appengine.rst
	$(MAKE) venv VENV=.venv-appengine EXTRAS=bench,test,appengine
	for backend in native pure; do LAZYENTITY_BACKEND=$$backend .venv-appengine/bin/python \
		-m lazyentity.bench --appengine --quick --output bench/results/appengine-$$backend.json || exit 1; done
	$(MAKE) tables

tables: venv ## put the results in bench/results/, and the list of clients, into the documentation
	$(BIN)/python tools/tables.py

test: lint ## ruff, then mypy --strict beside pytest
	@$(MAKE) --no-print-directory --jobs=2 types pytest

lint: venv ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: venv ## mypy --strict
	$(BIN)/mypy --strict lazyentity tests tools setup.py

pytest: venv ## the tests; PYTEST_ARGS= passes options, WORKERS= sets the number of processes
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

upstream: venv ## the unit tests of the clients themselves, under the patch
	$(BIN)/python -m pytest tests/upstream $(shell grep -l mark.upstream tests/patches/*/test_own_tests.py) \
		-m upstream $(PYTEST_ARGS)

emulator: ## install the Rust Datastore emulator, once, outside the checkout
	tools/install-emulator $(EMULATOR_ROOT)

test-emulator: venv emulator ## the tests against that emulator, and against Google's where it is
	LAZYENTITY_TEST_EMULATOR=$(EMULATOR_ROOT)/bin/datastore-emulator \
		$(BIN)/python -m pytest tests/integration tests/patches -m emulator $(PYTEST_ARGS)

test-caches: venv ## the tests with real cache servers, Redis and memcached
	tools/install-caches
	$(BIN)/python -m pytest tests/patches/ndb -m 'redis or memcache' $(PYTEST_ARGS)

test-names: venv ## the tests with every private name of the clients that is used changed, one at a time
	$(BIN)/python -m pytest tests/versions -m slow $(PYTEST_ARGS)

# The oldest versions that the adapters of the most exposed libraries support.
test-adapters-lowest: ## the tests of the adapters against the oldest pydantic, FastAPI and encoders
	$(MAKE) venv VENV=.venv-adapters EXTRAS=bench,test REQUIRE="pydantic==2.8.0 fastapi==0.115.0 \
		sqlmodel==0.0.22 orjson==3.10.0 msgspec==0.18.6 pandas==2.2.3 uvicorn"
	.venv-adapters/bin/python -m pytest -o filterwarnings=default \
		tests/adapters/test_uses.py tests/adapters/test_service.py tests/adapters/test_pydantic_depth.py \
		tests/adapters/test_pydantic_functions.py $(PYTEST_ARGS)

# In an environment of its own, because the libraries' tests need more than lazyentity's.
test-libraries: ## the adapted libraries' own tests and CPython's, stock and patched, some minutes
	$(MAKE) venv VENV=.venv-libraries EXTRAS=bench,test,adapters,libraries,firestore
	.venv-libraries/bin/python -m pytest tests/libraries -m upstream $(PYTEST_ARGS)

venv: # make or refresh $(VENV), keyed on the interpreter and the requirements
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "lazyentity needs Python 3.11 or newer; $(PYTHON) is not. Choose one: make PYTHON=python3.12" >&2; \
		exit 1; }
	@$(PYTHON) tools/environment.py $(if $(UV),--uv $(UV)) $(VENV) $(EXTRAS) $(REQUIRE)

# The requirements of some clients exclude those of the others.
test-client: ## the tests of a client in an environment of its own, named by CLIENT=
	$(MAKE) venv VENV=.venv-$(CLIENT) EXTRAS=bench,test,$(CLIENT)
	.venv-$(CLIENT)/bin/python -m pytest tests/patches/$(CLIENT) tests/patches/clients $(PYTEST_ARGS)

docs: ## build the documentation into build/docs; warnings are errors
	$(MAKE) venv VENV=.venv-docs EXTRAS=docs
	.venv-docs/bin/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto docs build/docs

flink: ## install Beam's runner for Flink, once, outside the checkout
	tools/install-flink $(FLINK)

# The runner listens on all interfaces.
test-engines: flink ## the tests of Beam on Flink, where `make test-client CLIENT=beam` runs its own
	$(MAKE) venv VENV=.venv-beam EXTRAS=bench,test,beam
	LAZYENTITY_TEST_FLINK=$(FLINK) tools/loopback-only \
		.venv-beam/bin/python -m pytest tests/patches/beam -m engines $(PYTEST_ARGS)

fuzz: ## fuzz the native backend for SECONDS, with AddressSanitizer and UBSan
	UV=$(UV) tools/fuzz "$(PYTHON)" "$(SECONDS)"

fuzz-operations: venv ## fuzz operations on entities, against stock, for SECONDS, half with each backend
	$(call fuzz_both,operations)

fuzz-changes: venv ## fuzz entities that change while they are written, for SECONDS, half with each backend
	$(call fuzz_both,changes)

fuzz-responses: venv ## fuzz whole responses, against stock, for SECONDS, half with each backend
	$(call fuzz_both,responses)

fuzz-calls: venv ## fuzz the native modules with hostile calls for SECONDS
	LAZYENTITY_BACKEND=native $(BIN)/python -m tests.fuzz.calls --seconds $(SECONDS) --seed $(SEED)

fuzz-snapshots: venv ## fuzz with damaged snapshots for SECONDS, half with each backend
	$(call fuzz_both,snapshots)

fuzz-interruptions: venv ## fuzz bulk calls with signal handlers that raise, for SECONDS, half with each backend
	$(call fuzz_both,interruptions)

fuzz-graphs: venv ## fuzz adapted libraries with graphs of objects, against stock, for SECONDS, half with each backend
	$(call fuzz_both,graphs)

fuzz-all: ## all of the fuzzers, for ten times SECONDS each
	$(MAKE) fuzz fuzz-operations fuzz-changes fuzz-responses fuzz-calls fuzz-snapshots \
		fuzz-interruptions fuzz-graphs SECONDS=$$((10 * $(SECONDS)))

fuzz_both = status=0; for backend in native pure; do LAZYENTITY_BACKEND=$$backend $(BIN)/python -m \
	tests.fuzz.$(1) --seconds $$(($(SECONDS) / 2)) --seed $(SEED) || status=1; done; exit $$status

dist: venv ## the source distribution and the wheel, and a check of what they hold
	rm -rf $(DIST)
	$(if $(UV),PATH="$(abspath $(dir $(UV))):$$PATH") $(BIN)/python -m build $(if $(UV),--installer uv) \
		--outdir $(DIST)
	$(BIN)/python tools/check_dist.py $(if $(UV),--uv $(UV)) $(DIST)

clean: ## remove what the targets made inside the checkout
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks \
		lazyentity-bench.json lazyentity/*.so lazyentity/native/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
