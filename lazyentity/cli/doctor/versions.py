"""Versions: of Python, of lazyentity, of its requirements, and of the libraries with an adapter."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata

from lazyentity._environment import ADAPTERS, is_off
from lazyentity._version import PYTHONS, __version__
from lazyentity.cli.doctor.findings import NOTE, PROBLEM, Finding
from lazyentity.patches.adapters.table import LIBRARIES
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.spec import is_supported


def findings() -> Iterator[Finding]:
    """Find the versions, and which are supported."""
    yield _python()
    yield Finding("lazyentity", __version__, brief=f"lazyentity {__version__}", group="packages")
    yield from _requirements()
    yield from _libraries()


def _python() -> Finding:
    implementation = platform.python_implementation()
    text = f"{implementation} {platform.python_version()}"
    first, last = PYTHONS[0], PYTHONS[-1]
    if "free-threading build" in sys.version:
        text += ", free-threaded,"
    elif implementation == "CPython" and "{}.{}".format(*sys.version_info) in PYTHONS:
        return Finding("Python", f"{text} (supported: {first} to {last})")
    return Finding("Python", f"{text} was not tested", NOTE, f"use CPython {first} to {last}")


def _requirements() -> Iterator[Finding]:
    try:
        declared = metadata.requires("lazyentity") or []
    except metadata.PackageNotFoundError:
        yield Finding(
            "lazyentity",
            "is imported from a folder, but not installed",
            NOTE,
            "install it, so that the versions of its requirements are looked at",
        )
        return
    clients = {client.distribution for client in CLIENTS.values()}
    for requirement in declared:
        # Those with a marker belong to an extra.
        parts = re.fullmatch(r"([\w.-]+)(>=[^;]+)", requirement)
        if parts and parts[1] not in clients:
            yield _requirement(*parts.groups())


def _requirement(name: str, versions: str) -> Finding:
    requirement = f"{name}{versions}"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, "is not installed", PROBLEM, f"pip install '{requirement}'")
    if is_supported(version, versions):
        return Finding(
            name,
            f"{version} (supported: {versions})",
            brief=f"{name} {version}",
            group="packages",
        )
    return Finding(
        name,
        f"{version} is not supported (supported: {versions})",
        PROBLEM,
        f"pip install '{requirement}'",
    )


def _libraries() -> Iterator[Finding]:
    if is_off(ADAPTERS):
        return
    tested: list[str] = []
    for library in LIBRARIES:
        if library.distribution is None:
            continue
        try:
            version = metadata.version(library.distribution)
        except metadata.PackageNotFoundError:
            continue
        if is_supported(version, library.tested):
            tested.append(f"{library.distribution} {version}")
        else:
            yield Finding(
                library.distribution,
                f"{version} is not among the versions that its adapter was tested with "
                f"({library.tested})",
                NOTE,
                "it is adapted all the same; give it lazyentity.materialize(entity) if in doubt",
            )
    if tested:
        count = f"{len(tested)} {'library' if len(tested) == 1 else 'libraries'}"
        yield Finding(
            "adapters",
            f"get decoded entities: {', '.join(tested)}",
            brief=f"{count} of tested versions get decoded entities",
        )
