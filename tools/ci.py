"""Everything that has to hold before a change is merged, as steps: see :mod:`tools.steps`.

The order of the steps:

1. The environment of the README's two commands is made with pip, as these make it, and then the two
   commands run. The outputs of the benchmark count here, not its figures. Beside the environment
   and the benchmark, the other environments are made with uv. Steps with few tests or none run at a
   lower priority beside the benchmark and the tests, which leave a core free at times.
2. The rest follows, two steps more at a time than there are cores, each with its tests in one
   process.

Every test of the library runs with the newest requirements and with the lowest ones, and with each
backend. Python, requirements and backend are not combined in all ways:

- The current and the newest Python have the newest requirements and the native backend.
- The oldest Python has the lowest requirements. Unless it is the current one, it has the newest
  ones, too, for the tests of libraries, with adapters or without, which the lowest ones leave out.
- Tests of a client run with its lowest supported version on the oldest Python, and with one between
  that and the newest on the current Python, there on the native backend.
- On :data:`PURE_PYTHON` the backend is the pure one, but for the tests of native implementations.
- Any other Python has the tests of the libraries alone, with each backend in turn. One that is not
  found is named in the end.
- Tests of each backend in turn take the native backend on each Python, for which it was compiled,
  and the pure one on the current and the oldest Python.
- Tests over a loopback server run on the current Python with each server, transport and way to
  patch. On the pure backend and on the lowest requirements each test takes one combination.
- The own test suite of a client apart (``test_own_tests.py``) does not run on
  :data:`NEWEST_APART`, the newest Python for these clients.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from tools.ci_environments import (
    APART_ENVIRONMENTS,
    CURRENT,
    FIRST_ENVIRONMENT,
    LOWEST_ENVIRONMENTS,
    NEWEST,
    NEWEST_APART,
    PURE_PYTHON,
    PYTHONS,
    UV,
    Interpreter,
    apart_environments,
    between_environment,
    between_environments,
    environment,
    environment_steps,
    found,
    interpreters,
)
from tools.clients import apart, clients, extras, package_of
from tools.commands import DURATIONS, make, pytest, shell
from tools.steps import Runner, Step

DISTRIBUTION = "the distribution"
NEWEST_DISTRIBUTION = "the distribution, on the newest Python"
DOCUMENTATION = "the documentation"
LOWEST_ADAPTERS = "the adapters on the lowest of it"
ALL_CORES = 1_000
PURE = {"LAZYENTITY_BACKEND": "pure"}

WITHOUT_BENCHMARKS = "--ignore-glob=tests/patches/*/test_benchmark.py"
# One Python is enough for the project's own server, benchmarks and tools, and for texts: README,
# documentation and the imports in the sources.
ON_TEXTS = ("test_readme.py", "test_imports_between_rooms.py", "test_sizes.py")
ON_OTHER_REQUIREMENTS = (
    WITHOUT_BENCHMARKS,
    *(f"--ignore=tests/{path}" for path in ("server", "bench", "docs", "tools", *ON_TEXTS)),
)
OF_EVERY_CLIENT = "tests/patches/clients"
# These depend on the clients' versions, which are the same as in `make test` on every Python.
ON_ANOTHER_PYTHON = (
    *ON_OTHER_REQUIREMENTS,
    "--ignore=tests/integration",
    "--ignore=tests/versions",
)
# The lowest requirements are without the extras that these need.
OF_THE_EXTRAS = (
    "tests/adapters",
    *map(str, sorted(Path("tests/entity").glob("test_consumers*.py"))),
    *map(str, sorted(Path("tests/patches").glob("test_*.py"))),
    "tests/patches/datastore/test_eager_mode.py",
    "tests/patches/clients",
)
NATIVE_IN_TURN = ("--in-turn", "native")
# The first tests of each client take the loopback servers in all ways.
LOOPBACK_ONCE, WITHOUT_LOOPBACK = "--loopback-once", "--without-loopback"
# Files in which a test function, or one of its cases, is marked slow.
SLOW = tuple(
    sorted(
        str(path)
        for path in Path("tests").rglob("test_*.py")
        if "mark.slow" in path.read_text("utf-8")
        # The first has a step of its own, and the second is run weekly.
        and not {"packaging", "libraries"} & set(path.parts)
    )
)
QUICK_BENCHMARK = (
    "--benchmark-max-time=0.01",
    "--benchmark-min-rounds=2",
    "--benchmark-warmup=off",
)
# `make bench` runs the largest cases, which have the same code as the smaller ones.
NOT_THE_LARGEST = ("-k", "not -500-")


def first_steps(pythons: Mapping[str, Interpreter]) -> list[Step]:
    """Return the commands of the README, and the preparations that run beside the second."""
    native = ".venv/bin/python tools/assert_native.py"
    distributions = [client.distribution for client in clients() if not client.own_environment]
    installed = (
        f'.venv/bin/python -c "from importlib import metadata; '
        f'print(*map(metadata.version, {distributions}))"'
    )
    return [
        Step("make bench", make("bench"), needs=(FIRST_ENVIRONMENT,)),
        Step("the emulator is built", make("emulator"), needs=("make bench",), cores=0),
        Step("Flink is installed", make("flink"), needs=("make bench",), cores=0),
        *(
            # By then the native backend is compiled for every Python, which writes to the checkout.
            Step(name, make(target, UV=UV), needs=(LOWEST_ENVIRONMENTS,), cores=0)
            for name, target in (
                (DISTRIBUTION, "dist"),
                (DOCUMENTATION, "docs"),
                (LOWEST_ADAPTERS, "test-adapters-lowest"),
            )
        ),
        Step(
            NEWEST_DISTRIBUTION,
            shell(
                *(
                    python.make("dist", UV=UV, VENV=f".venv-{version}", DIST=f"dist/{version}")
                    for version, python in pythons.items()
                    if version == NEWEST
                )
            ),
            # Both make the source distribution in the checkout.
            needs=(DISTRIBUTION,),
            cores=0,
        ),
        *(
            # One after the other: their cases are counted by time.
            Step(f"make {target}", make(target, UV=UV, SECONDS=seconds), needs=(before,), cores=0)
            for before, target, seconds in (
                (DOCUMENTATION, "fuzz-responses", "60"),
                ("make fuzz-responses", "fuzz-calls", "60"),
                ("make fuzz-calls", "fuzz-snapshots", "30"),
                ("make fuzz-snapshots", "fuzz-interruptions", "30"),
            )
        ),
        Step(
            APART_ENVIRONMENTS,
            shell(*apart_environments(pythons), *between_environments()),
            needs=("make bench", LOWEST_ENVIRONMENTS),
            cores=0,
        ),
        Step(
            "make test",
            make("test", PYTEST_ARGS=" ".join(DURATIONS)),
            needs=("make bench", LOWEST_ENVIRONMENTS),
            cores=ALL_CORES,
        ),
        Step(
            "the native backend and all clients were tested",
            ["sh", "-c", f"{native} && {installed}"],
            needs=("make test",),
        ),
    ]


def on_another_python(version: str, pythons: Mapping[str, Interpreter]) -> Step:
    """Return the tests on a Python that is not the current one.

    Args:
        version: of Python.
        pythons: the interpreter of each other Python version.
    """
    if version == PURE_PYTHON:
        selected: tuple[str, ...] = ("--after-pure", *NATIVE_IN_TURN)
    else:
        selected = NATIVE_IN_TURN if version == NEWEST else OF_THE_EXTRAS
    tests = pytest(*selected, *ON_ANOTHER_PYTHON, WITHOUT_LOOPBACK, environment=f".venv-{version}")
    return Step(f"Python {version}", [*pythons[version].inside, *tests], needs=("make test",))


def other_steps(pythons: Mapping[str, Interpreter]) -> list[Step]:
    """Return the steps after ``make test``, long steps first.

    Args:
        pythons: the interpreter of each other Python version.
    """
    tested = ("make test",)
    # Packaging copies the checkout, while nothing else may write to it.
    packed = ("the packaging tests",)
    return [
        Step(
            "the packaging tests",
            pytest("-m", "slow", "tests/packaging"),
            needs=(
                *tested,
                *(APART_ENVIRONMENTS, NEWEST_DISTRIBUTION, DOCUMENTATION, LOWEST_ADAPTERS),
                "make fuzz-calls",
            ),
        ),
        Step(
            f"the pure backend, on Python {found(PURE_PYTHON, pythons)}",
            pytest(
                "--after-native",
                *("--in-turn", "none"),
                LOOPBACK_ONCE,
                *ON_OTHER_REQUIREMENTS,
                environment=environment(PURE_PYTHON, pythons),
            ),
            needs=tested,
            environment=PURE,
        ),
        *(on_another_python(version, pythons) for version in reversed(tuple(pythons))),
        Step(
            "the lowest of everything required",
            pytest(LOOPBACK_ONCE, *ON_OTHER_REQUIREMENTS, environment=".venv-lowest"),
            needs=tested,
        ),
        Step("the slow tests", pytest("-m", "slow", *SLOW), needs=tested),
        *(
            Step(f"make {target}", make(target, UV=UV, SECONDS="60"), needs=packed)
            for target in ("fuzz", "fuzz-operations", "fuzz-changes")
        ),
        *(
            Step(
                f"{extra} on the lowest of it",
                pytest(
                    f"tests/patches/{package_of(extra)}",
                    OF_EVERY_CLIENT,
                    LOOPBACK_ONCE,
                    WITHOUT_BENCHMARKS,
                    environment=f".venv-lowest-{extra}",
                ),
                needs=tested,
            )
            for extra in extras()
        ),
        *(
            Step(
                f"{client.distribution} {client.between}",
                pytest(
                    f"tests/patches/{package_of(client.name)}",
                    OF_EVERY_CLIENT,
                    f"--ignore=tests/patches/{package_of(client.name)}/test_own_tests.py",
                    WITHOUT_BENCHMARKS,
                    *(LOOPBACK_ONCE, *NATIVE_IN_TURN),
                    environment=between_environment(client),
                ),
                needs=(*tested, APART_ENVIRONMENTS),
            )
            for client in clients()
            if client.between
        ),
        *(step for name in apart() for step in own_environment_steps(name, pythons)),
        Step(
            "the cases under pytest-benchmark",
            pytest("bench", *QUICK_BENCHMARK, *NOT_THE_LARGEST),
            needs=tested,
        ),
        Step("the cache servers", make("test-caches"), needs=tested),
        Step(
            "a pipeline on Flink",
            make("test-engines", UV=UV),
            # Both may make the environment.
            needs=("Flink is installed", *map(own_environment, apart())),
        ),
        *upstream_steps(),
        Step(
            "the integration tests against an emulator",
            make("test-emulator"),
            needs=(*tested, "the emulator is built"),
        ),
    ]


def own_environment(client: str) -> str:
    """Return the name of the step that makes the own environment of a client, and tests in it."""
    return f"{client} in its own environment"


def own_environment_steps(client: str, pythons: Mapping[str, Interpreter]) -> list[Step]:
    """Return the tests of a client whose requirements exclude those of the other clients.

    Args:
        client: its name.
        pythons: the interpreter of each other Python version.
    """
    name = own_environment(client)
    tests = f"tests/patches/{package_of(client)}"
    # Making the environment writes to the checkout.
    packed = ("the packaging tests",)
    return [
        Step(
            name,
            make("test-client", CLIENT=client, UV=UV, PYTEST_ARGS=" ".join(DURATIONS)),
            needs=packed,
        ),
        Step(
            f"{name}, pure, on Python {found(PURE_PYTHON, pythons)}",
            pytest(
                tests,
                OF_EVERY_CLIENT,
                *("--after-native", LOOPBACK_ONCE),
                WITHOUT_BENCHMARKS,
                environment=environment(PURE_PYTHON, pythons, client),
            ),
            needs=(name, APART_ENVIRONMENTS),
            environment=PURE,
        ),
        *(
            Step(
                f"{name}, on Python {version}",
                pytest(
                    tests,
                    OF_EVERY_CLIENT,
                    f"--ignore={tests}/test_own_tests.py",
                    WITHOUT_BENCHMARKS,
                    *NATIVE_IN_TURN,
                    WITHOUT_LOOPBACK,
                    environment=environment(version, pythons, client),
                ),
                needs=(name, APART_ENVIRONMENTS),
            )
            for version in pythons
            if version == NEWEST_APART
        ),
    ]


def upstream_steps() -> list[Step]:
    """Return the own tests of the clients and of the adapted libraries.

    The first step records the outcomes on the stock client.
    """
    run = ("-m", "upstream", "tests/upstream")
    # Those of the other clients that are installed by default.
    others = [
        str(path)
        for path in sorted(Path("tests/patches").glob("*/test_own_tests.py"))
        if "mark.upstream" in path.read_text("utf-8")
    ]
    # Those that take more than a minute are run weekly.
    quick = "-m 'upstream and not slow'"
    first = "the client's own tests"
    tested = ("make test",)
    return [
        Step(first, pytest(*run, *others), needs=tested),
        Step(f"{first}, pure", pytest(*run, *others), needs=(first,), environment=PURE),
        Step(
            "the own tests of the adapted libraries",
            make("test-libraries", UV=UV, PYTEST_ARGS=quick),
            # Making the environment writes to the checkout.
            needs=("the packaging tests",),
        ),
        Step(
            f"{first}, on the lowest of everything required",
            pytest(*run, environment=".venv-lowest"),
            needs=tested,
        ),
    ]


def main() -> None:
    """Run every step, and print the Pythons that they ran on.

    Raises:
        SystemExit: the newest Python is missing, or a step failed; the message names the step,
            below the table of the steps so far.
    """
    pythons = interpreters()
    # Raise an error at SIGTERM: it stops the steps on the way out, which would go on running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # uv leaves compiling to the first import, which has to be able to keep the bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # uv does not read the configuration of pip.
    os.environ.setdefault(
        "UV_DEFAULT_INDEX", os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple")
    )
    # More steps than cores: tests wait at times for threads, servers and processes.
    runner = Runner((os.cpu_count() or 1) + 2)
    runner.run([*environment_steps(pythons), *first_steps(pythons), *other_steps(pythons)])
    print(runner.summary())
    print(f"\npassed on Python {', '.join([CURRENT, *pythons])}, and on the lowest requirements")
    missing = [version for version in PYTHONS if version not in (CURRENT, *pythons)]
    if missing:
        print(f"not found, and so not tested: Python {', '.join(missing)}")


if __name__ == "__main__":
    main()
