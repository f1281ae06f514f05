"""Inside ``eager()`` and in eager mode, reads of every client are stock; profiles count both."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import lazyentity
from lazyentity.patches.clients import CLIENTS
from tests.patches.clients.conftest import NAMES, READING_EAGERLY
from tests.patches.clients.subjects import KIND, SUBJECTS, Subject

Read = Callable[[], bool]


@pytest.fixture(autouse=True)
def _patched(subject: Subject, _stock_before_and_after: None) -> None:
    lazyentity.patch(subject.client, strict=True)


@pytest.fixture(params=READING_EAGERLY)
def subject(request: pytest.FixtureRequest) -> Subject:
    """Each subject whose reads show eager mode."""
    return SUBJECTS[request.param]


def test_ends_as_it_began(is_lazy: Read) -> None:
    """Nested, with an exception, and as a decorator of a function that calls itself."""

    @lazyentity.eager()
    def decorated(depth: int) -> list[bool]:
        return [is_lazy()] + (decorated(depth - 1) if depth else [])

    @lazyentity.eager()
    def failing() -> None:
        assert decorated(2) == [False] * 3
        assert not is_lazy()
        raise LookupError("inside")

    with pytest.raises(LookupError, match="inside"):
        failing()
    assert is_lazy()
    assert decorated(0) == [False]
    assert is_lazy()


def test_other_threads_and_tasks_choose_for_themselves(is_lazy: Read) -> None:
    """A thread stays lazy, a task is eager if it was started inside; neither disturbs another."""

    async def read() -> bool:
        # In a thread with the task's context: clients of asyncio run another loop there.
        return await asyncio.to_thread(is_lazy)

    async def main() -> list[bool]:
        outside = asyncio.create_task(read())
        with lazyentity.eager():
            inside = asyncio.create_task(read())
            seen = [await outside, await read()]
        return [*seen, await inside, await read()]

    with ThreadPoolExecutor(1) as pool:
        with lazyentity.eager():
            assert pool.submit(is_lazy).result()
            assert not is_lazy()
        assert asyncio.run(main()) == [True, False, False, True]


def test_the_mode_is_that_of_the_last_call(
    subject: Subject, is_lazy: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the process, by the environment, and inside ``eager()``."""
    for eager in (True, False, None, True, None):
        lazyentity.patch(subject.client, strict=True, eager=eager)
        assert is_lazy() is not eager or eager is None
        with lazyentity.eager():
            assert not is_lazy()
    monkeypatch.setenv("LAZYENTITY_EAGER", "1")
    lazyentity.patch(subject.client)
    assert not is_lazy()
    lazyentity.patch(subject.client, eager=False)
    assert is_lazy()


_POST = "Datastore._post"


@pytest.mark.parametrize("subject", NAMES, indirect=True)
def test_profile_of_lazy_entities(subject: Subject, is_lazy: Callable[[], bool]) -> None:
    """At the lines that read them, by kind; outside of the profile nothing is counted."""
    with lazyentity.profile() as profile:
        assert is_lazy()
    report = profile.report()
    (kind,) = report.kinds
    assert (kind.kind, kind.entities, kind.eager) == (KIND, subject.entities, 0)
    # The clients of the REST API hand on parsed JSON before 9.2: the size of it is not known.
    before = subject.client.startswith("gcloud") and CLIENTS[subject.client].seams[0].path != _POST
    assert (kind.bytes > 0) is not before
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert decoded == {"number": subject.entities}
    assert "number" in profile.table()
    assert {line.site.file for line in report.received} == {subject.reader}
    for advice in report.advice:
        assert subject.client == "datastore"
        assert "prefetch=['number'], strict=True" in advice.call
    assert report.advice or subject.client != "datastore"
    assert is_lazy()
    assert profile.report().kinds == report.kinds


@pytest.mark.parametrize("activation", ["patch", "eager()"])
def test_profile_of_stock_entities(
    subject: Subject, is_lazy: Callable[[], bool], activation: str
) -> None:
    lazyentity.patch(subject.client, strict=True, eager=activation == "patch")
    eager = contextlib.nullcontext() if activation == "patch" else lazyentity.eager()
    with lazyentity.profile() as profile, eager:
        assert not is_lazy()
    counted = [(one.kind, one.entities, one.eager) for one in profile.report().kinds]
    assert counted == ([(KIND, 0, subject.entities)] if subject.counts_stock else [])
    assert not any(kind.properties for kind in profile.report().kinds)
