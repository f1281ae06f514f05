"""Every client, and every part of a client, is patched and unpatched alike."""

from __future__ import annotations

import importlib
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import wrapt

import lazyentity
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.registry import Seam
from tests.conftest import INSTALLED
from tests.patches.clients.subjects import OVER_HTTP, SUBJECTS, Subject
from tests.support.forks import answer

_DESCRIBED = {part.name: part for name in INSTALLED for part in CLIENTS[name].with_parts()}


def _seams(subject: Subject) -> Sequence[Seam]:
    """Return the seams of a subject."""
    return (_DESCRIBED.get(subject.name) or CLIENTS[subject.client]).seams


LASTING = ("Expando.__getattr__", "Future._info", "Model.__getattr__")
"""Attributes without which lazy models and futures that exist could not be read."""

COUNTING = ("db.Property.creation_counter", "Property._Property__creation_counter_global")
"""Attributes that count the properties that anybody makes."""

ADAPTED = ("bigquery_tools.fast_json_dumps",)
"""Beam's name of a function of orjson, which the adapter binds anew: see tests/adapters."""

ORDERS: dict[str, list[bool]] = {
    "auto,early,import,read": [False, True, True],
    "import,read,auto,read": [False, True, True],
    "patch,early,import,read": [False, True, True],
    "patch,unpatch,early,import,read,patch,read": [False, False, True, True],
    "patch all,unpatch all,patch,unpatch,patch all,early,import,read,unpatch all,read": [
        *(False, True, False),
        False,
    ],
    "import,read,patch,read,patch,read,unpatch,read,patch,read,unpatch,read": [
        *(False, True, True, False, True, False),
        False,
    ],
}


def test_every_client_has_a_subject() -> None:
    described = {part.name for client in CLIENTS.values() for part in client.with_parts()}
    assert described == SUBJECTS.keys() - {OVER_HTTP}


@pytest.mark.parametrize("steps", ORDERS)
def test_orders(subject: Subject, port: int, steps: str) -> None:
    """Reads are lazy while the client is patched; patching it does not import it."""
    program = ("-m", "tests.patches.clients.steps", subject.name, str(port), steps)
    assert answer(*program, warnings="ignore") == ORDERS[steps]


def test_the_client_that_is_imported_first() -> None:
    """It imports modules that the replacements of others need; these are patched nevertheless."""
    patch = "import lazyentity; lazyentity.patch()"
    for first in INSTALLED:
        imports = [f"import {CLIENTS[name].waits_for_import}" for name in (first, *INSTALLED)]
        for steps in ([patch, *imports], [imports[0], patch, *imports]):
            program = "; ".join([*steps, "import json; print(json.dumps(lazyentity.patched()))"])
            patched = answer("-c", program, warnings="error::RuntimeWarning")
            assert {*patched} == {*INSTALLED}, steps


@pytest.mark.parametrize("which", ["", " all"])
def test_nothing_else_is_replaced(subject: Subject, port: int, which: str) -> None:
    """Nor left behind: the modules and classes of the client's package are as they were.

    Modules that the patch itself imports are not compared.
    """
    steps = f"import,read,note,patch{which},changes,read,unpatch,changes,unpatch all,changes,read"
    program = ("-m", "tests.patches.clients.steps", subject.name, str(port), steps)
    *seen, is_patched = answer(*program, warnings="ignore")
    before, during, lazy, without, after, again = seen
    assert (before, lazy, again, is_patched) == (False, True, False, False)
    importlib.import_module(subject.module)
    client = CLIENTS[subject.client]
    parts = [*client.with_parts(), *(CLIENTS.values() if which else ())]
    for seam in _seams(subject):
        seam.resolve()
    seams = {f"{seam.module}.{seam.path}" for part in parts for seam in part.seams}
    assert {path for path in during if not path.endswith((*COUNTING, *ADAPTED))} <= seams
    own = {f"{seam.module}.{seam.path}" for part in client.with_parts() for seam in part.seams}
    assert {f"{seam.module}.{seam.path}" for seam in _seams(subject)} & {*during}
    assert [path for path in own & {*without} if not path.endswith(LASTING)] == []
    assert [path for path in after if not path.endswith((*LASTING, *COUNTING, *ADAPTED))] == []


def test_a_client_that_lacks_an_attribute(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not patched at all: one warning names both, or an error each time if strict.

    Of a client whose part lacks it, the other parts are.
    """
    client = CLIENTS[subject.client]
    described = _DESCRIBED.get(subject.name, client)
    importlib.import_module(subject.module)
    for seam in described.seams:
        if type(seam) is not Seam:
            # There is another one in its place, or there need be none.
            continue
        parent, name, _ = wrapt.resolve_path(seam.module, seam.path)
        with monkeypatch.context() as lacking, warnings.catch_warnings(record=True) as caught:
            lacking.setattr("lazyentity.patches._told", set())
            lacking.delattr(parent, name)
            others = [each for each in described.seams if each is not seam]
            originals = [each.resolve() for each in others]
            warnings.simplefilter("always")
            for _ in range(2):
                lazyentity.patch(subject.client)
                assert not described.patch.active
                assert all(map(operator.is_, originals, [each.resolve() for each in others]))
                assert described is not client or lazyentity.patched() == ()
                lazyentity.unpatch()
            ours = [each for each in caught if "lazyentity" in str(each.message)]
            assert [each.category for each in ours] == [RuntimeWarning]
            told = str(ours[0].message)
            assert f"{client.distribution} {client.version()} cannot be patched" in told
            assert name in told
            with pytest.raises(RuntimeError, match=name):
                lazyentity.patch(subject.client, strict=True)
            assert not described.patch.active
            assert all(map(operator.is_, originals, [each.resolve() for each in others]))
            assert described is not client or lazyentity.patched() == ()
            lazyentity.unpatch()


def test_unpatching_leaves_the_others(subject: Subject, is_lazy: Callable[[], bool]) -> None:
    """Those that are built on the client, too."""
    others: Any = {*INSTALLED} - {subject.client}
    lazyentity.patch()
    for name in others:
        lazyentity.unpatch(name)
    assert lazyentity.patched() == (subject.client,)
    assert is_lazy()
    lazyentity.patch()
    lazyentity.unpatch(subject.client)
    assert {*lazyentity.patched()} == others
    assert not is_lazy()


def test_an_unsupported_version_is_left_alone(
    subject: Subject, is_lazy: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one warning, or an error each time where that is strict; other clients are patched."""
    client = CLIENTS[subject.client]
    importlib.import_module(subject.module)
    monkeypatch.setattr("lazyentity.patches._told", set())
    monkeypatch.setattr(client, "supported", ">=98.8,<98.9")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            lazyentity.patch(subject.client)
    (told,) = [str(each.message) for each in caught if "lazyentity" in str(each.message)]
    assert f"{client.distribution} {client.version()} is not supported" in told
    assert "(supported: >=98.8,<98.9)" in told
    assert not is_lazy()
    assert lazyentity.patched() == ()
    assert not any(part.patch.active for part in client.with_parts())
    for _ in range(2):
        with pytest.raises(RuntimeError, match="is not supported"):
            lazyentity.patch(subject.client, strict=True)
    lazyentity.patch()
    assert set(lazyentity.patched()) == {
        name for name in INSTALLED if client not in (CLIENTS[name], *CLIENTS[name].underneath)
    }
