"""The pure backend's parsed messages: one reader at a time, and not for longer than is useful."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from lazyentity import LazyEntity
from lazyentity.codec import fallback
from tests.conftest import IMPLEMENTATIONS
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise
from tests.support.strategies.schema import ENTITY, ENTRY

PURE = IMPLEMENTATIONS["pure"]

_VALUES = {"inner": {"deep": 1}, "many": [1, 2]}
SMALL = serialise(_VALUES, meanings={"many": (9, [14, None])})
SIZES = {"small": SMALL, "large": SMALL + wire.BALLAST.encode()}

READERS: dict[str, Callable[[Any], object]] = {
    "one": lambda entity: entity["many"],
    "all": lambda entity: entity.items(),
    "meanings": lambda entity: entity._wire_meanings(),
    "excluded": lambda entity: entity._wire_excluded(),
}


def _in_another_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("second", READERS)
@pytest.mark.parametrize("first", READERS)
@pytest.mark.parametrize("raw", SIZES.values(), ids=SIZES)
def test_threads_do_not_share_messages(
    monkeypatch: pytest.MonkeyPatch, raw: bytes, first: str, second: str
) -> None:
    """A thread that reads while another one is reading gets messages of its own.

    upb gives all callers the same object for a message, as long as one of them holds it. If two
    threads make it at once, CPython before 3.12 crashes (see ``ParseSlot``).
    """
    entity = PURE.from_bytes(raw)
    messages: dict[int, list[Any]] = {}

    def spying(function: Callable[..., Any]) -> Callable[..., Any]:
        def spy(raw: bytes, name: str, message: Any, *args: Any) -> Any:
            first_time = not messages
            messages.setdefault(threading.get_ident(), []).append(message)
            if first_time:
                _in_another_thread(lambda: READERS[second](entity))
            return function(raw, name, message, *args)

        return spy

    monkeypatch.setattr(fallback, "convert", spying(fallback.convert))
    monkeypatch.setattr(fallback, "excluded", spying(fallback.excluded))
    READERS[first](entity)
    ours, theirs = messages.values()
    assert not {id(message) for message in ours} & {id(message) for message in theirs}


def _others(count: int) -> list[LazyEntity]:
    return [PURE.from_bytes(SMALL) for _ in range(count)]


@pytest.mark.parametrize("raw", SIZES.values(), ids=SIZES)
def test_only_the_latest_stay_parsed(raw: bytes) -> None:
    """A parsed entity takes several times the memory of its bytes."""
    entity: Any = PURE.from_bytes(raw)
    _others(100)
    assert len(entity._split) == 0
    assert entity["many"] == [1, 2]
    assert len(entity._split) == 1
    _others(100)
    assert len(entity._split) == 0


@pytest.mark.parametrize("raw", SIZES.values(), ids=SIZES)
def test_nothing_stays_parsed_that_was_forgotten_meanwhile(
    monkeypatch: pytest.MonkeyPatch, raw: bytes
) -> None:
    """An entity that is evicted during a read does not keep its parsed message."""
    entity: Any = PURE.from_bytes(raw)
    convert = fallback.convert

    def convert_late(*args: Any) -> Any:
        _others(100)
        return convert(*args)

    monkeypatch.setattr(fallback, "convert", convert_late)
    assert entity["many"] == [1, 2]
    assert len(entity._split) == 0


def test_a_failed_read_leaves_the_rest_readable() -> None:
    """The failed read took the parsed message; the next reader parses again."""
    entry = wire.message(
        ENTITY.properties, wire.delimited(ENTRY.key, "unset"), wire.delimited(ENTRY.value, b"")
    )
    entity: Any = PURE.from_bytes(SMALL + entry.encode())
    with pytest.raises(ValueError, match="did not have any value set"):
        entity["unset"]
    assert entity["many"] == [1, 2]
