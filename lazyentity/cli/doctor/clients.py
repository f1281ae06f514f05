"""The clients: the attributes that ``patch()`` replaces or replaced, and other replacements."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Collection, Iterator

from lazyentity import patches
from lazyentity._environment import DISABLE, is_set
from lazyentity.cli.doctor.findings import NOTE, PROBLEM, Finding
from lazyentity.cli.doctor.origins import is_clients, who
from lazyentity.cli.run import SCRIPT
from lazyentity.patches import adapters
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.imports import WhenImported
from lazyentity.patches.registry import Seam, modules_holding_any
from lazyentity.patches.spec import ClientSpec

_AT_THE_TOP = "make `import lazyentity.auto` the first line of the program"
_FIRST = f"{_AT_THE_TOP}, or start it with {SCRIPT}"


def may_import() -> bool:
    """Whether importing a client patches nothing, as none waits for it."""
    return not patches.patched()


def imported() -> frozenset[ClientSpec]:
    """Return the clients, and parts of them, that were imported."""
    return frozenset(client for client in _all() if client.is_imported())


def _all() -> Iterator[ClientSpec]:
    for client in CLIENTS.values():
        yield from client.with_parts()


def findings(may: bool, used: Collection[ClientSpec]) -> Iterator[Finding]:
    """Find out about every client.

    Args:
        may: whether a client may be imported to look at it.
        used: the clients that the application imported, and so should have patched.
    """
    for client in _all():
        yield from _client(client, may, client in used)
    for holder, function in adapters.unbound_references():
        yield Finding(
            "old references",
            f"{holder} kept {function} before patch(): it sees a sentinel for unread properties",
            PROBLEM,
            _FIRST,
        )


def _client(client: ClientSpec, may: bool, is_expected: bool) -> Iterator[Finding]:
    if not WhenImported(client.waits_for_import, lambda: None).is_installed():
        if client in CLIENTS.values():
            yield Finding(
                client.name,
                f"{client.distribution} is not installed",
                brief=client.distribution,
                group="not installed",
            )
        return
    problem = _problem(client, may)
    if problem is not None:
        yield Finding(client.name, f"stays stock: {problem}", PROBLEM, _remedy(client))
        return
    seams = client.patch.seams
    count = f"{len(seams)} attributes"
    modules = len({seam.module for seam in seams})
    is_problem = False
    if client.patch.active:
        state = f"patched, {'eager' if client.patch.eager else 'lazy'}: {count}"
    elif patches.is_awaited(client):
        state = f"patched on import: {count}"
    elif is_expected and not is_set(DISABLE):
        state = "stays stock, because the application did not patch it"
        is_problem = True
    else:
        state = f"patch() would replace {count}"
    yield Finding(
        client.name,
        f"{client.distribution} {client.version()} (supported: {client.supported}): {state}",
        PROBLEM if is_problem else "ok",
        _FIRST if is_problem else "",
        [f"{seam.module}:{seam.path}" for seam in seams],
        brief=f"{client.version()}, {state} of {modules} module{'s' if modules > 1 else ''}",
    )
    if client.is_imported() and (client.patch.active or not patches.is_awaited(client)):
        yield from _replaced_conversions(client)
        yield from _others(client)
        yield from _old_references(client)
        if is_expected:
            yield from _in_application(client)


def _problem(client: ClientSpec, may: bool) -> str | None:
    """Return the reason why a client cannot be patched; None if there is none."""
    problem = client.problem()
    if problem is not None or client.patch.active:
        return problem
    try:
        if may:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(client.waits_for_import)
        if client.is_imported():
            client.patch.check()
    except Exception as error:  # noqa: BLE001  # a client may differ in any way, or be broken
        return client.failure(error)
    # The clients underneath were imported with it.
    return client.problem()


def _remedy(client: ClientSpec) -> str:
    installed = [below for below in (*client.underneath, client) if below.version() is not None]
    requirements = {f"{one.distribution}{one.supported}": None for one in installed}
    return "pip install " + " ".join(f"'{requirement}'" for requirement in requirements)


def _replaced_conversions(client: ClientSpec) -> Iterator[Finding]:
    below = {sentence for one in client.underneath for sentence in one.replaced_conversions()}
    for sentence in client.replaced_conversions():
        if sentence not in below:
            yield Finding(
                client.name,
                f"{sentence}; entities that it makes are not lazy",
                PROBLEM,
                f"leave the replacement out if you can; if it calls the original, {_AT_THE_TOP}",
            )


def _others(client: ClientSpec) -> Iterator[Finding]:
    """Find wrappers, such as a tracer's, and replacements, such as mocks."""
    conversions = {str(place) for place in (*client.reading, *client.writing)}
    for seam in client.patch.seams:
        current = seam.resolve()
        if not (client.patch.active and seam.is_installed()):
            # The conversions have their own finding; what unpatch() left in place does nothing.
            if (
                str(seam) not in conversions
                and current is not seam.replacement
                and not is_clients(seam, current)
            ):
                what = "leaves as it is" if seam.defers_to_foreign else "wraps"
                yield Finding(
                    client.name,
                    f"{seam} was replaced by {who(current)}, which patch() {what}",
                    NOTE,
                    "if it wraps the original, as a tracer does, nothing; a mock bypasses patch()",
                )
            continue
        if not is_clients(seam, seam.original):
            yield Finding(
                client.name,
                f"{seam} was replaced by {who(seam.original)} before patch(), which wraps it",
                NOTE,
                "if it misses calls, as a tracer or a mock may, replace it after patch()",
            )
        if seam.is_wrapped(current):
            yield Finding(
                client.name,
                f"{seam} is wrapped by {who(current)}, which calls lazyentity",
                NOTE,
                "if it only looks, as a tracer does, nothing",
            )
        elif current is not seam.replacement and str(seam) not in conversions:
            yield Finding(
                client.name,
                f"{seam} was replaced after patch() by {who(current)}",
                PROBLEM,
                "replace it before patch(), or call lazyentity.patch() after it again",
            )


def _in_application(client: ClientSpec) -> Iterator[Finding]:
    """Find parts of the application that are not lazy; a client's module ``doctor`` tells them."""
    package = client.name.replace("-", "_")
    if importlib.util.find_spec(f"{patches.__name__}.{package}.doctor") is None:
        return
    for sentence in importlib.import_module(f"{patches.__name__}.{package}.doctor").notes():
        yield Finding(
            client.name,
            sentence,
            NOTE,
            "if they are read often, leave that out of the class",
        )


def _old_references(client: ClientSpec) -> Iterator[Finding]:
    conversion = client.conversion
    if conversion is None:
        return
    patched = client.patch.active
    for module in _holders(client, conversion):
        yield Finding(
            "old references",
            f"{module} imported {conversion.path} by name before patch(), and makes stock "
            f"entities with it{'' if patched else ' if patch() is called now'}",
            PROBLEM if patched else NOTE,
            _FIRST,
        )


def _holders(client: ClientSpec, conversion: Seam) -> list[str]:
    """Return the modules that imported the conversion by name."""
    if client.patch.active:
        seams = [conversion] if conversion.is_installed() else []
        return [name for _, names in patches.old_references(seams) for name in names]
    if not conversion.is_upstream():
        # The conversion is somebody else's, and has its own finding.
        return []
    found = modules_holding_any({id(conversion.resolve())})
    return [name for names in found.values() for name in names if name != conversion.module]
