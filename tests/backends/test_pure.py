"""Readers of the same entity never meet in the messages of the pure backend."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from lazyentity.codec.values import property_value
from lazyentity.entity import lazy_entity_type
from lazyentity.pure import mapping
from tests.support.snapshots import snapshot
from tests.support.stock import EntityMessage, stock_entity
from tests.support.strategies.samples import serialise

PURE = lazy_entity_type(mapping.LazyMapping)
RAW = serialise({"inner": {"deep": 1}, "many": [1, {"x": 2}]}, meanings={"many": (9, [14, None])})

READERS: dict[str, Callable[[Any], object]] = {
    "one": lambda entity: entity["many"],
    "embedded": lambda entity: entity["inner"]["deep"],
    "all": lambda entity: entity.items(),
    "key": lambda entity: entity.key,
    "meanings": lambda entity: entity._meanings,
    "excluded": lambda entity: entity.exclude_from_indexes,
    "raw": lambda entity: entity._raw,
}


def _in_another_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("run", [_in_another_thread, lambda work: work()], ids=["thread", "same"])
@pytest.mark.parametrize("second", READERS)
def test_a_reader_in_the_middle_of_a_read_gets_a_copy(
    monkeypatch: pytest.MonkeyPatch, second: str, run: Callable[[Any], None]
) -> None:
    """Another thread, or a finalizer or signal handler in the same one; all get the same value."""
    entity: Any = PURE.from_bytes(RAW)
    convert = property_value
    seen: list[list[Any]] = [[]]

    def convert_slowly(name: str, message: Any, make: Any) -> Any:
        seen[-1].append(message)
        if len(seen) == 1:
            seen.append([])
            run(lambda: READERS[second](entity))
        return convert(name, message, make)

    monkeypatch.setattr(mapping, "property_value", convert_slowly)
    many = entity["many"]
    ours, theirs = seen
    assert not {id(message) for message in ours} & {id(message) for message in theirs}
    assert entity["many"] is many
    assert entity._meanings["many"][1] is many
    assert snapshot(entity) == snapshot(stock_entity(RAW))


def test_a_failed_read_leaves_the_entity_to_the_next_reader() -> None:
    message = EntityMessage.FromString(RAW)
    message.properties["unset"].meaning = 9
    entity: Any = PURE.from_bytes(message.SerializeToString())
    with pytest.raises(ValueError, match="did not have any value set"):
        entity["unset"]
    assert entity._received.turn
    assert entity["many"] == [1, {"x": 2}]
