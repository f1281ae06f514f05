"""Everything that has to hold before a change is merged, as steps: see :mod:`tools.steps`.

The environment of the README's two commands is made first, as these make it, with pip. Then the two
commands are run. Beside the benchmark, of which the outputs count here and not the figures, the
other environments are made with uv. Beside the tests, which leave a core free at times, the
emulator and Prism are built at a lower priority. The rest follows, as many steps at a time as there
are cores, each with its tests in one process.

Every test of the library runs

- on each Python: with the newest requirements, but on the oldest Python with the lowest ones, and
  there with the newest ones if it needs what the lowest ones leave out: clients that are extras,
  and the libraries that have adapters or need none;
- with the newest requirements and with the lowest ones;
- with each backend, on the current Python.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tools.clients import apart, clients, extras, package_of
from tools.steps import Runner, Step

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
CURRENT = "{}.{}".format(*sys.version_info)
UV = "build/uv/bin/uv"
OTHER_ENVIRONMENTS = "environments of other Pythons"
LOWEST_ENVIRONMENTS = "environments with the lowest requirements"
ALL_CORES = 1_000
PURE = {"LAZYENTITY_BACKEND": "pure"}

# Every step with tests names those that took long.
DURATIONS = ("--durations=15", "--durations-min=1")
BENCHMARKS = tuple(f"patches/{package_of(client.name)}/test_benchmark.py" for client in clients())
# The server, the benchmarks and the tools are the project's own, the README and the documentation
# text: one Python is enough for them.
ON_OTHER_REQUIREMENTS = tuple(
    f"--ignore=tests/{path}"
    for path in ("server", "bench", *BENCHMARKS, "docs", "tools", "test_readme.py")
)
# These depend on the clients' versions, which are those of `make test` on every Python.
ON_ANOTHER_PYTHON = (
    *ON_OTHER_REQUIREMENTS,
    "--ignore=tests/integration",
    "--ignore=tests/versions",
)
# The lowest requirements are without the extras that these need; the oldest Python has both.
OF_THE_EXTRAS = (
    "tests/adapters",
    *(f"tests/patches/{package_of(extra)}" for extra in extras() if extra not in apart()),
    *map(str, sorted(Path("tests/entity").glob("test_consumers*.py"))),
    *map(str, sorted(Path("tests/patches").glob("test_*.py"))),
    "tests/patches/datastore/test_eager_mode.py",
)
QUICK_BENCHMARK = (
    "--benchmark-max-time=0.1",
    "--benchmark-min-rounds=3",
    "--benchmark-warmup=off",
)


def interpreter(version: str) -> str | None:
    """Return the newest patch release of a Python version that pyenv has; None if it has none."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [
        (int(patch), python)
        for python in versions.glob(f"{version}.*/bin/python")
        if (patch := python.parent.parent.name.removeprefix(f"{version}.")).isdecimal()
    ]
    return str(max(found)[1]) if found else None


def make(target: str, python: str = sys.executable, **variables: str) -> list[str]:
    """Return the command that makes a target with the variables of the Makefile."""
    assignments = (f"{name}={value}" for name, value in variables.items())
    return ["make", "--no-print-directory", target, f"PYTHON={python}", *assignments]


def pytest(*arguments: str, environment: str = ".venv") -> list[str]:
    """Return the command that runs tests in an environment that has been made."""
    return [f"{environment}/bin/python", "-m", "pytest", *DURATIONS, *arguments]


def shell(*lines: str) -> list[str]:
    """Return the command that runs lines of shell script, and prints each."""
    return ["sh", "-exc", "\n".join(lines)]


def environment_steps(pythons: dict[str, str]) -> list[Step]:
    """Return the steps that make the environments with the newest requirements.

    Args:
        pythons: the interpreter of each other Python version.
    """
    return [
        Step("the environment", make("venv")),
        Step(
            OTHER_ENVIRONMENTS,
            shell(
                f"{sys.executable} -m venv build/uv",
                "build/uv/bin/python -m pip -q install uv",
                *(
                    f"make venv UV={UV} PYTHON={python} VENV=.venv-{version}"
                    for version, python in pythons.items()
                ),
            ),
        ),
    ]


def lowest_environments() -> list[str]:
    """Return the commands that make the environments with the lowest requirements."""
    lowest = '"REQUIRE=$(.venv/bin/python tools/lowest.py{})"'
    oldest = interpreter(PYTHONS[0]) or sys.executable
    made = f"make venv UV={UV}"
    return [
        f"{made} PYTHON={oldest} VENV=.venv-lowest EXTRAS=bench,test {lowest.format('')}",
        *(
            f"{made} PYTHON={sys.executable} VENV=.venv-lowest-{extra} "
            + (f"EXTRAS=bench,test,{extra} " if extra in apart() else "")
            + lowest.format(f" {extra}")
            for extra in extras()
        ),
    ]


def first_steps() -> list[Step]:
    """Return the commands of the README, and beside the second what later steps need."""
    native = ".venv/bin/python tools/assert_native.py"
    distributions = [client.distribution for client in clients() if not client.own_environment]
    installed = (
        f'.venv/bin/python -c "from importlib import metadata; '
        f'print(*map(metadata.version, {distributions}))"'
    )
    return [
        Step("make bench", make("bench"), needs=("the environment",)),
        Step(
            LOWEST_ENVIRONMENTS,
            shell(*lowest_environments()),
            needs=("the environment", OTHER_ENVIRONMENTS),
        ),
        Step("the emulator is built", make("emulator"), needs=("make bench",), cores=0),
        Step("Prism is built", make("prism"), needs=("make bench",), cores=0),
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


def other_steps(pythons: dict[str, str]) -> list[Step]:
    """Return the steps after ``make test``; those that take long are first.

    Args:
        pythons: the interpreter of each other Python version.
    """
    tested = ("make test",)
    # Packaging copies the checkout, while nothing else may write to it.
    packed = ("the packaging tests",)
    return [
        Step("the packaging tests", pytest("-m", "slow", "tests/packaging"), needs=tested),
        *(
            Step(
                f"Python {version}",
                pytest(
                    *(OF_THE_EXTRAS if version == PYTHONS[0] else ()),
                    *ON_ANOTHER_PYTHON,
                    environment=f".venv-{version}",
                ),
                needs=tested,
            )
            for version in reversed(pythons)
        ),
        Step("the pure backend", pytest("--after-native"), needs=tested, environment=PURE),
        Step(
            "the lowest of everything required",
            pytest(*ON_OTHER_REQUIREMENTS, environment=".venv-lowest"),
            needs=tested,
        ),
        Step("the slow tests", pytest("-m", "slow", "--ignore=tests/packaging"), needs=tested),
        *(
            Step(f"make {target}", make(target, UV=UV, SECONDS="60"), needs=packed)
            for target in ("fuzz", "fuzz-operations", "fuzz-responses", "fuzz-calls")
        ),
        Step("the distribution", make("dist", UV=UV), needs=packed),
        Step("the documentation", make("docs", UV=UV), needs=packed),
        *(
            Step(
                f"{extra} on the lowest of it",
                pytest(
                    f"tests/patches/{package_of(extra)}",
                    *(f"--ignore=tests/{path}" for path in BENCHMARKS),
                    environment=f".venv-lowest-{extra}",
                ),
                needs=tested,
            )
            for extra in extras()
        ),
        *(step for name in apart() for step in own_environment_steps(name)),
        Step("the cases under pytest-benchmark", pytest("bench", *QUICK_BENCHMARK), needs=tested),
        Step("the adapters on the lowest of it", make("test-adapters-lowest", UV=UV), needs=packed),
        Step("the cache servers", make("test-caches"), needs=tested),
        Step(
            "pipelines on Prism and Dask",
            make("test-engines", UV=UV),
            # Both may make the environment.
            needs=("Prism is built", *map(own_environment, apart())),
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


def own_environment_steps(client: str) -> list[Step]:
    """Return the tests of a client whose requirements exclude those of the other clients."""
    name = own_environment(client)
    arguments = " ".join(DURATIONS)
    # Making the environment writes to the checkout.
    packed = ("the packaging tests",)
    return [
        Step(
            name,
            make("test-client", CLIENT=client, UV=UV, PYTEST_ARGS=arguments),
            needs=packed,
        ),
        Step(
            f"{name}, pure",
            pytest(
                f"tests/patches/{package_of(client)}",
                "--after-native",
                environment=f".venv-{client}",
            ),
            needs=(name,),
            environment=PURE,
        ),
    ]


def upstream_steps() -> list[Step]:
    """Return the client's own tests; the outcomes on the stock client are those of the first."""
    run = ("-m", "upstream", "tests/upstream")
    first = "the client's own tests"
    tested = ("make test",)
    return [
        Step(first, pytest(*run), needs=tested),
        Step(f"{first}, pure", pytest(*run), needs=(first,), environment=PURE),
        Step(
            f"{first}, on the lowest of everything required",
            pytest(*run, environment=".venv-lowest"),
            needs=tested,
        ),
    ]


def main() -> None:
    """Run every step, and print the Pythons that they ran on.

    Raises:
        SystemExit: a step failed; the message names it, below the table of the steps so far.
    """
    pythons = {
        version: python
        for version in PYTHONS
        if version != CURRENT and (python := interpreter(version))
    }
    # Steps are stopped on the way out, which a mere end would leave running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # uv leaves compiling to the first import, which has to be able to keep the bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # uv does not read the configuration of pip.
    os.environ.setdefault(
        "UV_DEFAULT_INDEX", os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple")
    )
    runner = Runner(os.cpu_count() or 1)
    runner.run([*environment_steps(pythons), *first_steps(), *other_steps(pythons)])
    print(runner.summary())
    print(f"\npassed on Python {', '.join([CURRENT, *pythons])}, and on the lowest requirements")


if __name__ == "__main__":
    main()
