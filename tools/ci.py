"""Everything that has to hold before a change is merged, as steps: see :mod:`tools.steps`.

``python -m tools.ci`` runs the steps, and ``--list`` prints their commands. The README's two
commands come first, and get the cores. Steps on the current Python that test no client's version
run beside them at a lower priority, and then the Pythons that have few tests: they use the cores
while the commands wait. The other steps follow, long ones first, two more at a time than there are
cores: tests wait at times for threads, servers and processes. Each step makes the environment that
it needs.

Every test of the library runs with the newest requirements and with the lowest ones, and with each
backend. Python, requirements and backend are not combined in all ways:

- The current and the newest Python have the newest requirements and the native backend.
- The oldest Python has the lowest requirements. Unless it is the current one, it has the newest
  ones, too, for the tests of libraries, with adapters or without, which the lowest ones leave out.
- Tests of a client run with its lowest supported version on the oldest Python, in one environment
  for all clients that install side by side: protobuf and google-api-core are then those that the
  most demanding of them allows. They run with one between that and the newest on the current
  Python, there on the native backend.
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
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tools.clients import CHECKOUT, REQUIRED, apart, clients, constant, extras, lowest, package_of
from tools.steps import Runner, Step

PYTHONS: tuple[str, ...] = constant("lazyentity/_version.py", "PYTHONS")
CURRENT = "{}.{}".format(*sys.version_info)
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]
PURE_PYTHON = "3.12"
NEWEST_APART = "3.13"
"""The newest Python for clients with a separate environment: 3.15 lacks a wheel for one."""
NEWER_PYTHON = CHECKOUT.parent / "shared" / "tools" / "newer-python"
"""Runs a command in a root folder with newer Pythons, which it installs there; only root can."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "lazyentity"
ROOT = CACHE / "forky"
UV = "build/uv/bin/uv"
# The first process of a PID namespace gets no signal that it does not handle.
_STOPPABLE = ("sh", "-c", 'trap "exit 143" TERM; "$@" & wait $!', "sh")

ALL_CORES = 1_000
BESIDE = 0
# Every step with tests names those that took long.
DURATIONS = ("--durations=15", "--durations-min=1")
WITHOUT_BENCHMARKS = "--ignore-glob=tests/patches/*/test_benchmark.py"
# One Python is enough for the project's own server, benchmarks and tools, and for texts: README,
# documentation and the imports in the sources.
ON_TEXTS = tuple(
    f"test_{name}.py" for name in ("glossary", "imports_between_rooms", "readme", "sizes", "texts")
)
ON_OTHER_REQUIREMENTS = (
    WITHOUT_BENCHMARKS,
    *(f"--ignore=tests/{path}" for path in ("server", "bench", "docs", "tools", *ON_TEXTS)),
)
# These depend on the clients' versions, which are the same as in `make test` on every Python.
ON_ANOTHER_PYTHON = (
    *ON_OTHER_REQUIREMENTS,
    *(f"--ignore=tests/{path}" for path in ("integration", "versions")),
)
OF_EVERY_CLIENT = "tests/patches/clients"
# The lowest requirements are without the groups that these need.
OF_THE_LIBRARIES = (
    "tests/adapters",
    *map(str, sorted(Path("tests/entity").glob("test_consumers*.py"))),
    *map(str, sorted(Path("tests/patches").glob("test_*.py"))),
    "tests/patches/datastore/test_eager_mode.py",
    OF_EVERY_CLIENT,
)
OWN_TESTS = ("-m", "upstream", "tests/upstream")
NATIVE_IN_TURN = ("--in-turn", "native")
# The first tests of each client take the loopback servers in all ways.
LOOPBACK_ONCE, WITHOUT_LOOPBACK = "--loopback-once", "--without-loopback"
OF_CLIENT = "--of-client"
# Files in which a test function, or one of its cases, is marked slow.
SLOW = tuple(
    sorted(
        str(path)
        for path in Path("tests").rglob("test_*.py")
        if "mark.slow" in path.read_text("utf-8")
        # The first has its own step, and the second is run weekly.
        and not {"packaging", "libraries"} & set(path.parts)
    )
)
QUICK_BENCHMARK = (
    *("--benchmark-max-time=0.01", "--benchmark-min-rounds=2", "--benchmark-warmup=off"),
    # `make bench` runs the largest cases, which have the same code as the smaller ones.
    *("-k", "not -500-"),
)


class Interpreter(NamedTuple):
    """An interpreter of Python.

    Attributes:
        executable: its path, or its name.
        version: the end of the names of its environments; empty for the current Python.
        inside: the beginning of commands that run where the interpreter is; mostly none.
    """

    executable: str
    version: str
    inside: tuple[str, ...] = ()

    def make(self, target: str, **variables: str) -> list[str]:
        """Return the command that makes a target with this interpreter, and with uv."""
        variables = {"PYTHON": self.executable, "UV": UV, **variables}
        assignments = (f"{name}={value}" for name, value in variables.items())
        return [*self.inside, "make", "--no-print-directory", target, *assignments]

    def tests(self, name: str, *selected: str, venv: str = "", **variables: str) -> Step:
        """Return a step that runs tests in one process, in an environment that it makes first.

        Args:
            name: of the step.
            selected: arguments of pytest.
            venv: the name of the environment, completed by the version of Python.
            variables: of the Makefile; they determine the contents of the environment.
        """
        folder = "-".join(filter(None, (".venv", venv, self.version)))
        tests = shlex.join([*DURATIONS, *selected])
        return Step(name, self.make("test", VENV=folder, TESTS=tests, **variables))


HERE = Interpreter(sys.executable, "")


def interpreter(version: str) -> Interpreter | None:
    """Return the interpreter of a Python version; None if there is none.

    It is the newest patch release that pyenv has, or the one on the path. The newest version can
    also be in its own root folder.
    """
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [
        (int(patch), python)
        for python in versions.glob(f"{version}.*/bin/python")
        if (patch := python.parent.parent.name.removeprefix(f"{version}.")).isdecimal()
    ]
    if found:
        return Interpreter(str(max(found)[1]), version)
    name = f"python{version}"
    if version != NEWEST:
        return None
    if python := shutil.which(name):
        return Interpreter(python, version)
    if NEWER_PYTHON.is_file() and os.geteuid() == 0:
        return Interpreter(name, version, (str(NEWER_PYTHON), str(ROOT), *_STOPPABLE))
    return None


def interpreters() -> dict[str, Interpreter]:
    """Return the interpreter of each supported Python version but the current one.

    Versions that were not found are left out: the current one stands for them.

    Raises:
        SystemExit: the newest one was not found, whose tests nothing replaces.
    """
    others = [version for version in PYTHONS if version != CURRENT]
    pythons = {version: python for version in others if (python := interpreter(version))}
    if NEWEST in others and NEWEST not in pythons:
        raise SystemExit(
            f"Python {NEWEST} is missing: install it with pyenv, or put python{NEWEST} on the "
            f"path. As root, {NEWER_PYTHON} can install it, where that tool is."
        )
    return pythons


def part(name: str, target: str = "test", cores: int = 1, **variables: str) -> Step:
    """Return a step that makes a target on the current Python."""
    return Step(name, HERE.make(target, **variables), cores=cores)


def steps(pythons: Mapping[str, Interpreter]) -> list[Step]:
    """Return all steps.

    Args:
        pythons: the interpreter of each Python version but the current one.
    """
    return [
        *first_steps(pythons),
        *python_steps(pythons),
        *client_steps(pythons),
        Step("a pipeline on Flink", HERE.make("test", WHAT="flink"), ("flink is installed",)),
    ]


def first_steps(pythons: Mapping[str, Interpreter]) -> list[Step]:
    """Return the commands of the README, as a user runs them, and the steps beside them."""
    distributions = [client.distribution for client in clients() if not client.own_environment]
    installed = f"from importlib import metadata; print(*map(metadata.version, {distributions}))"
    python = ".venv/bin/python"
    check = f'{python} tools/assert_native.py && {python} -c "{installed}"'
    durations = " ".join(DURATIONS)
    return [
        part("make bench", "bench", ALL_CORES, UV=""),
        part("make test", "test", ALL_CORES, UV="", PYTEST_ARGS=durations),
        Step("native, with all clients", ["sh", "-c", check], ("make test",)),
        *(
            Step(f"{program} is installed", ["tools/install", program], cores=BESIDE)
            for program in ("emulator", "flink")
        ),
        part("the distribution", "dist", BESIDE),
        *(
            Step(
                f"the distribution, on Python {version}",
                newest.make("dist", VENV=f".venv-{version}", DIST=f"dist/{version}"),
                # Which removes the folder.
                needs=("the distribution",),
                cores=BESIDE,
            )
            for version, newest in pythons.items()
            if version == NEWEST
        ),
        part("the documentation", "docs", BESIDE),
        part("the adapters, the lowest versions", "test", BESIDE, WHAT="lowest"),
        *(
            part(f"make fuzz WHAT={what}", "fuzz", BESIDE, WHAT=what, SECONDS=seconds)
            for what, seconds in (
                *(("responses", "60"), ("calls", "60"), ("snapshots", "30")),
                *(("interruptions", "30"), ("operations", "60"), ("changes", "60")),
            )
        ),
        # They use the environment that the first command makes.
        *(
            replace(step, needs=step.needs or ("make bench",), cores=BESIDE)
            for step in steps_beside()
        ),
    ]


def steps_beside() -> list[Step]:
    """Return the other tests that need no Python but the current one."""
    # The tests of the other clients that are installed by default.
    others = [
        str(path)
        for path in sorted(Path("tests/patches").glob("*/test_own_tests.py"))
        if "mark.upstream" in path.read_text("utf-8")
    ]
    own = HERE.tests("the clients' tests", *OWN_TESTS, *others)
    return [
        HERE.tests("the slow tests", "-m", "slow", *SLOW),
        HERE.tests("the packaging tests", "-m", "slow", "tests/packaging"),
        own,
        # The first records the outcomes of the stock client.
        pure(replace(own, name=f"{own.name}, pure"), own.name),
        # Tests that take more than a minute are run weekly.
        part(
            "the adapted libraries' tests",
            WHAT="libraries",
            PYTEST_ARGS="-m 'upstream and not slow'",
        ),
        part("make fuzz", "fuzz", SECONDS="60"),
        HERE.tests("the cases under pytest-benchmark", "bench", *QUICK_BENCHMARK),
        part("the cache servers", WHAT="caches"),
        Step(
            "the integration tests against an emulator",
            HERE.make("test", WHAT="emulator"),
            needs=("emulator is installed", "make bench"),
        ),
    ]


def pure(step: Step, *needs: str) -> Step:
    """Return the same step with the pure backend."""
    return replace(step, needs=needs, environment={"LAZYENTITY_BACKEND": "pure"})


def python_steps(pythons: Mapping[str, Interpreter]) -> list[Step]:
    """Return the tests of the library on each Python, and with the lowest requirements."""
    for_pure, oldest = pythons.get(PURE_PYTHON, HERE), pythons.get(OLDEST, HERE)
    once = LOOPBACK_ONCE, *ON_OTHER_REQUIREMENTS
    selected = {PURE_PYTHON: ("--after-pure", *NATIVE_IN_TURN), NEWEST: NATIVE_IN_TURN}
    least = {"venv": "lowest", "EXTRAS": "bench", "GROUPS": "test", "REQUIRE": " ".join(lowest())}
    on_least = oldest.tests("the lowest requirements", *once, **least)
    own = oldest.tests("the clients' tests, the lowest requirements", *OWN_TESTS, **least)
    return [
        pure(for_pure.tests("the pure backend", "--after-native", "--in-turn", "none", *once)),
        *(
            replace(
                python.tests(
                    f"Python {version}",
                    *selected.get(version, OF_THE_LIBRARIES),
                    *(*ON_ANOTHER_PYTHON, WITHOUT_LOOPBACK),
                ),
                cores=1 if version in selected else BESIDE,
            )
            for version, python in [*pythons.items()][::-1]
        ),
        on_least,
        # Both would make the environment.
        replace(own, needs=(on_least.name,)),
    ]


def client_steps(pythons: Mapping[str, Interpreter]) -> Iterator[Step]:
    """Yield the tests of each client with other versions, and in its own environment."""
    oldest, for_pure = pythons.get(OLDEST, HERE), pythons.get(PURE_PYTHON, HERE)
    together = [name for name in extras() if name not in apart()]
    yield oldest.tests(
        "the clients, the lowest versions",
        *(f"tests/patches/{package_of(name)}" for name in together),
        *(OF_EVERY_CLIENT, WITHOUT_BENCHMARKS, LOOPBACK_ONCE),
        # google-cloud-datastore has its lowest version with the lowest requirements.
        *(f"{OF_CLIENT}={name}" for name in together),
        venv="lowest-clients",
        EXTRAS=",".join(["bench", *together]),
        # Without the consumers: one of them needs the newest google-cloud-datastore.
        GROUPS="test,adapters",
        REQUIRE=" ".join(requirement for name in together for requirement in lowest(name)),
    )
    for client in clients():
        name = client.name
        tests = f"tests/patches/{package_of(name)}", OF_EVERY_CLIENT, WITHOUT_BENCHMARKS
        without_own_tests = *tests, f"--ignore={tests[0]}/test_own_tests.py", *NATIVE_IN_TURN
        alone = {"EXTRAS": "bench" if name == REQUIRED else f"bench,{name}", "GROUPS": "test"}
        if client.own_environment:
            least = {"venv": f"lowest-{name}", "REQUIRE": " ".join(lowest(name)), **alone}
            yield oldest.tests(f"{name}, the lowest version", *tests, LOOPBACK_ONCE, **least)
        if client.between:
            between = {"venv": f"between-{name}", **alone}
            between["REQUIRE"] = f"{client.distribution}=={client.between}"
            title = f"{client.distribution} {client.between}"
            yield HERE.tests(title, *without_own_tests, LOOPBACK_ONCE, **between)
        if client.own_environment:
            title, alone["venv"] = f"{name} in its own environment", name
            yield part(title, CLIENT=name, PYTEST_ARGS=" ".join(DURATIONS))
            once = *tests, "--after-native", LOOPBACK_ONCE
            yield pure(for_pure.tests(f"{title}, pure", *once, **alone))
            if newest := pythons.get(NEWEST_APART):
                title = f"{title}, on Python {NEWEST_APART}"
                yield newest.tests(title, *without_own_tests, WITHOUT_LOOPBACK, **alone)


def main() -> None:
    """Run every step, or list them, and print the Pythons that they ran on.

    Raises:
        SystemExit: the newest Python is missing, or a step failed; the message names the step,
            below the table of the steps so far.
    """
    pythons = interpreters()
    if sys.argv[1:] == ["--list"]:
        for step in steps(pythons):
            print(f"{step.name}:\n    {shlex.join(step.command)}")
        return
    # Raise an error at SIGTERM: it stops the steps on the way out, which would go on running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # uv leaves compiling to the first import, which has to be able to keep the bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # uv does not read the configuration of pip.
    os.environ.setdefault(
        "UV_DEFAULT_INDEX", os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple")
    )
    # Each step may make an environment with it.
    subprocess.run([sys.executable, "-m", "venv", "build/uv"], check=True)
    subprocess.run([CHECKOUT / "build/uv/bin/pip", "-q", "install", "uv"], check=True)
    # More steps than cores: tests wait at times for threads, servers and processes.
    runner = Runner((os.cpu_count() or 1) + 2)
    runner.run(steps(pythons))
    print(runner.summary())
    print(f"\npassed on Python {', '.join([CURRENT, *pythons])}, and on the lowest requirements")
    missing = [version for version in PYTHONS if version not in (CURRENT, *pythons)]
    if missing:
        print(f"not found, and so not tested: Python {', '.join(missing)}")


if __name__ == "__main__":
    main()
