"""``python -m lazyentity doctor``: whether lazyentity works here, and what to do if it does not.

The doctor looks at this process and changes nothing. Each finding is a line: versions, the backend,
the clients, names of theirs that others replaced, and the environment variables.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import json
import os
import platform
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from lazyentity import patches
from lazyentity._environment import (
    ADAPTERS,
    DISABLE,
    EAGER_SWITCH,
    PROFILE,
    PROFILE_PROCESS,
    REQUEST,
    failed_import,
    is_off,
    is_set,
    obstacle,
    requested_backend,
)
from lazyentity._version import PYTHONS, __version__
from lazyentity.cli.dispatch import Failure
from lazyentity.cli.run import BOOTSTRAP, PATH, SCRIPT
from lazyentity.codec.describing import safe_str
from lazyentity.patches import adapters
from lazyentity.patches.adapters.table import LIBRARIES
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.guard import name_of
from lazyentity.patches.imports import WhenImported
from lazyentity.patches.registry import namespaces
from lazyentity.patches.spec import ClientSpec, installed_version, is_supported


@dataclass(frozen=True)
class Finding:
    """A line of the report.

    Attributes:
        subject: the thing that was examined; the same word in every run.
        text: the state of the subject.
        level: "problem" if reads stay stock or ``patch(strict=True)`` raises, "note" if lazyentity
            works, but slower or not as expected.
        advice: what to do about it; empty if nothing is to be done.
    """

    subject: str
    text: str
    level: Literal["ok", "note", "problem"] = "ok"
    advice: str = ""

    def __str__(self) -> str:
        mark = "PROBLEM" if self.level == "problem" else self.level
        advice = f"\n        -> {self.advice}" if self.advice else ""
        return f"{mark:<8}{self.subject}: {self.text}{advice}"


_FIRST = f"make `import lazyentity.auto` the program's first line, or start it with {SCRIPT}"


def main(arguments: list[str], program: str) -> int:
    """Print the report; return 1 if there is a problem, else 0.

    Args:
        arguments: the arguments of the command.
        program: the name of the command, for its help.

    Raises:
        Failure: the application cannot be imported.
        SystemExit: the arguments are not understood, or only ask for help.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description="Say whether lazyentity works here, and what to do if it does not. It changes "
        "nothing. The exit status is 1 if there is a problem, else 0.",
        allow_abbrev=False,
    )
    parser.add_argument("--app", metavar="MODULE", help="import the application first")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    if given.app is not None:
        _import_application(given.app)
    findings = list(examine(has_application=given.app is not None))
    problems = sum(one.level == "problem" for one in findings)
    if given.json:
        report = {
            "lazyentity": __version__,
            "application": given.app,
            "ok": not problems,
            "findings": [asdict(one) for one in findings],
        }
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    else:
        end = f"Problems: {problems}." if problems else "No problem was found."
        sys.stdout.write("\n".join([*map(str, findings), end]) + "\n")
    return 1 if problems else 0


def _import_application(application: str) -> None:
    """Import the application; what it prints goes to standard error.

    Args:
        application: a module; a colon and the rest are ignored, as in ``package.module:app``.

    Raises:
        Failure: the application cannot be imported.
    """
    module = application.partition(":")[0]
    if not all(map(str.isidentifier, module.split("."))) or Path(module).is_file():
        raise Failure(f"--app takes the name of a module, as package.module; {module!r} is none", 2)
    given = sys.argv
    try:
        # An application may parse its own arguments.
        sys.argv = given[:1]
        # As `python -m` does.
        sys.path.insert(0, "")
        with contextlib.redirect_stdout(sys.stderr):
            importlib.import_module(module)
    except (Exception, SystemExit) as error:  # an application raises anything
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith("<frozen ") and frame.filename != __file__
        ]
        # The first frame is importlib's.
        where = f", see {frames[-1].filename}:{frames[-1].lineno}" if len(frames) > 1 else ""
        raise Failure(
            f"the application {module!r} cannot be imported{where}: {type(error).__name__}: "
            f"{' '.join(safe_str(error).split())}"
        ) from error
    finally:
        sys.argv = given
        sys.path.remove("")


def examine(has_application: bool) -> Iterator[Finding]:
    """Look at this process.

    Args:
        has_application: whether an application was imported in it.
    """
    # Before a client is imported to look at it; while one waits to be patched, none is.
    used = {client for client in every_client() if has_application and client.is_imported()}
    may_import = not patches.patched()
    yield from versions()
    yield from backend(may_import)
    for client in every_client():
        yield from client_findings(client, may_import, client in used)
    yield from old_references()
    yield from variables()


def every_client() -> Iterator[ClientSpec]:
    """Yield the clients, and the parts of them that are patched by themselves."""
    for client in CLIENTS.values():
        yield from client.with_parts()


# Versions.

REQUIREMENTS: Final = ("proto-plus", "protobuf", "wrapt")
"""The libraries that lazyentity requires beside a client."""


def versions() -> Iterator[Finding]:
    """Look at Python, at lazyentity and its requirements, and at libraries with an adapter."""
    implementation = platform.python_implementation()
    text = f"{implementation} {platform.python_version()}"
    tested = f"{PYTHONS[0]} to {PYTHONS[-1]}"
    if "free-threading build" in sys.version:
        text += ", free-threaded,"
    if text.endswith(",") or implementation != "CPython" or _python() not in PYTHONS:
        yield Finding("Python", f"{text} was not tested", "note", f"use CPython {tested}")
    else:
        yield Finding("Python", f"{text} (supported: {tested})")
    yield Finding("lazyentity", f"{__version__} in {Path(patches.__file__).parents[1]}")
    versions_of = [f"{name} {installed_version(name) or 'is missing'}" for name in REQUIREMENTS]
    yield Finding("requirements", ", ".join(versions_of))
    if not is_off(ADAPTERS):
        for library in LIBRARIES:
            version = installed_version(library.distribution)
            if version is not None and not is_supported(version, library.tested):
                yield Finding(
                    library.distribution,
                    f"its adapter was not tested with {version} (tested: {library.tested})",
                    "note",
                    "give it lazyentity.materialize(entity) if in doubt",
                )


def _python() -> str:
    return "{}.{}".format(*sys.version_info)


# The backend.

PROTOBUF: Final = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"


def backend(may_import: bool) -> Iterator[Finding]:
    """Look at the backend and at the implementation of protobuf.

    Args:
        may_import: whether importing google-cloud-datastore patches nothing.
    """
    try:
        requested = requested_backend()
        found = obstacle()
        if found is None and may_import:
            problem = _failed_import("google.cloud.datastore")
            if problem is not None:
                yield Finding("backend", f"cannot be loaded: {problem}", "problem", "mend that")
                return
            try:
                importlib.import_module("lazyentity.native.backend")
            except ImportError as error:
                found = failed_import(error)
    except ImportError as error:
        yield Finding("backend", str(error), "problem", f"set {REQUEST} to one of these")
        return
    if found is None:
        yield Finding("backend", "native")
    elif requested == "native":
        text = f"{REQUEST}=native cannot be met: {found.problem}"
        yield Finding("backend", text, "problem", f"{found.remedy}, or unset {REQUEST}")
    else:
        yield Finding("backend", f"pure, the slower one: {found.problem}", "note", found.remedy)
    advice = f"unset {PROTOBUF}" if PROTOBUF in os.environ else "install a wheel of protobuf"
    problem = _failed_import("google.protobuf.internal.api_implementation")
    if problem is not None:
        yield Finding("protobuf", f"cannot be imported: {problem}", "problem", advice)
        return
    implementation = sys.modules["google.protobuf.internal.api_implementation"].Type()
    if implementation == "upb":
        yield Finding("protobuf", "is upb, its C implementation")
    else:
        yield Finding("protobuf", f"is {implementation!r}, not upb, and slow", "note", advice)


def _failed_import(module: str) -> str | None:
    """Return the error of importing a module; None if there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(module)
    except Exception as error:  # noqa: BLE001  # a broken package raises anything
        return f"{type(error).__name__}: {safe_str(error)}"
    return None


# The clients.


def client_findings(client: ClientSpec, may_import: bool, is_expected: bool) -> Iterator[Finding]:
    """Look at a client: whether it is patched, and at its names that others replaced.

    Args:
        client: a client, or a part of one.
        may_import: whether importing it patches nothing.
        is_expected: whether the application imported it, and so should have patched it.
    """
    if not WhenImported(client.waits_for_import, lambda: None).is_installed():
        return
    try:
        lacking = obstacle() if client.lacks_native() else None
    except ImportError:
        # The finding about the backend says so: what is requested is none.
        return
    problem = client.problem()
    if lacking is not None:
        yield Finding(client.name, f"stays stock: {problem}", "note", lacking.remedy)
        return
    if problem is None and not client.patch.active and may_import:
        problem = _failed_import(client.waits_for_import) or client.problem()
    if problem is None and client.is_imported() and not client.patch.active:
        try:
            client.patch.check()
        except (AttributeError, ImportError, TypeError) as error:
            problem = client.failure(error)
    if problem is not None:
        installed = [below for below in (*client.underneath, client) if below.version() is not None]
        wanted = dict.fromkeys(f"'{one.distribution}{one.supported}'" for one in installed)
        advice = f"pip install {' '.join(wanted)}"
        yield Finding(client.name, f"stays stock: {problem}", "problem", advice)
        return
    names = f"{len(client.patch.seams)} names"
    is_missed = False
    if client.patch.active:
        state = f"{names} are patched, {'eager' if client.patch.eager else 'lazy'}"
    elif patches.is_awaited(client):
        state = f"{names} are patched on import"
    elif is_expected and not is_set(DISABLE):
        state, is_missed = "stays stock, because the application did not patch it", True
    else:
        state = f"patch() would replace {names}"
    text = f"{client.distribution} {client.version()} (supported: {client.supported}): {state}"
    if is_missed:
        yield Finding(client.name, text, "problem", _FIRST)
    else:
        yield Finding(client.name, text)
    if client.is_imported() and (client.patch.active or not patches.is_awaited(client)):
        yield from _replaced(client)


def _replaced(client: ClientSpec) -> Iterator[Finding]:
    """Find names that others replaced, such as tracers and mocks."""
    for path in client.guard.foreign():
        text = f"{path} was replaced by {name_of(path.current())}; calls that need it are not lazy"
        yield Finding(client.name, text, "problem", "leave the replacement out, if you can")
    for seam in client.patch.seams:
        current = seam.resolve()
        if seam in client.guard.names:
            continue
        if not (client.patch.active and seam.is_installed()):
            if current is not seam.replacement and not _is_clients(seam, current):
                yield Finding(client.name, f"{seam} was replaced by {name_of(current)}", "note")
        elif current is seam.replacement:
            if not _is_clients(seam, seam.original):
                who = name_of(seam.original)
                yield Finding(client.name, f"{seam} was replaced by {who} before patch()", "note")
        elif seam.is_wrapped(current):
            yield Finding(client.name, f"{seam} is wrapped by {name_of(current)}", "note")
        else:
            text = f"{seam} was replaced by {name_of(current)} after patch()"
            yield Finding(client.name, text, "problem", "replace it before patch()")


def _is_clients(attribute: Any, value: Any) -> bool:
    """Say whether the client itself defines the value that was found at an attribute path."""
    package = ".".join(attribute.module.split(".")[:2])
    return value is None or f"{name_of(value)}.".startswith(f"{package}.")


def old_references() -> Iterator[Finding]:
    """Find modules that go on calling functions which they imported before ``patch()``."""
    replaced = [client.conversion for client in every_client() if client.patch.active]
    for seam in replaced:
        if seam is None or not seam.is_installed():
            continue
        # Modules hold the function of a static method.
        original = getattr(seam.original, "__func__", seam.original)
        holders = [
            name
            for name, namespace in namespaces()
            if name != seam.module and any(value is original for value in list(namespace.values()))
        ]
        if holders:
            text = f"{', '.join(sorted(holders))} imported {seam} by name before patch()"
            yield Finding("old references", text, "problem", _FIRST)
    for holder, function in adapters.unbound_references():
        text = f"{holder} kept {function} before patch(): it sees a sentinel for unread properties"
        yield Finding("old references", text, "problem", _FIRST)


# The environment.

EMULATOR: Final = "DATASTORE_EMULATOR_HOST"
KNOWN: Final = {
    ADAPTERS: "libraries in C that bypass dict methods see a sentinel for unread properties",
    REQUEST: "requires a backend",
    DISABLE: "patch() does nothing",
    EAGER_SWITCH: "reads return stock entities, decoded faster",
    PROFILE: "reads are counted, which takes time",
}
"""The variables of lazyentity, and their effects."""


def variables() -> Iterator[Finding]:
    """Find the variables that are set, and misspelt ones."""
    for name in sorted(os.environ):
        value = os.environ[name]
        if name in KNOWN:
            has_effect = {ADAPTERS: is_off(name), REQUEST: bool(value)}.get(name, is_set(name))
            if has_effect:
                yield Finding(name, f"is {value}: {KNOWN[name]}", "note", f"unset {name} if not so")
        elif name.startswith("LAZYENTITY_") and name != PROFILE_PROCESS:
            similar = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.8)
            meant = f"{similar[0]}?" if similar else f"known are {', '.join(KNOWN)}"
            yield Finding(name, "is no variable of lazyentity, and does nothing", "note", meant)
    if os.environ.get(EMULATOR) == "":
        yield Finding(
            EMULATOR, "is empty: clients read from no server", "note", f"unset {EMULATOR}"
        )
    elif EMULATOR in os.environ:
        yield Finding(EMULATOR, f"clients read from {os.environ[EMULATOR]}")
    if BOOTSTRAP in os.environ.get(PATH, "").split(os.pathsep):
        yield Finding(PATH, f"interpreters patch before they start, by {SCRIPT}")
