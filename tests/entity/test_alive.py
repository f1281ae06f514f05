"""The number of undecoded properties is that of a census of all objects, and never too low."""

from __future__ import annotations

import gc
import random
from functools import partial
from typing import Any

import pytest

from lazyentity import LazyEntity, _alive
from lazyentity.codec.undecoded import Template, undecoded_template
from tests.conftest import INSTALLED
from tests.support import forks, subprocesses
from tests.support.concurrency import together
from tests.support.strategies.samples import RICH, serialise

THREADS = 4


def _program(name: str) -> list[tuple[int, int]]:
    # Not by a fork server, whose objects are frozen: a census does not see these.
    counted = subprocesses.answer("-m", "tests.entity.alive_program", name)
    return [(count, census) for count, census in counted]


@pytest.mark.parametrize(
    "name",
    [
        "entities",
        *(["rest"] if "gcloud-rest" in INSTALLED else []),
        *(["ndb"] if "ndb" in INSTALLED else []),
    ],
)
def test_against_a_census(name: str) -> None:
    """After each of many reads, changes and deaths, the number is that of the census."""
    counted = _program(name)
    assert [count for count, _ in counted] == [census for _, census in counted]
    assert max(census for _, census in counted) > 100
    assert counted[-1] == (0, 0)


def _come_and_go(lazy_type: type[LazyEntity], number: int) -> None:
    choices = random.Random(number)
    own: list[Any] = []
    for step in range(20):
        # Other threads learn and drop shapes, and decode theirs.
        properties = {f"name {number} {step // 2} {index}": index for index in range(9)}
        own.append(lazy_type.from_bytes(choices.choice([RICH, serialise(properties)])))
        entity = choices.choice(own)
        if entity and choices.random() < 0.5:
            entity.get(next(iter(entity)))
        if choices.random() < 0.3:
            own.pop(choices.randrange(len(own)))
        mine = sum(len(each._undecoded()) for each in own)
        assert _alive.undecoded_count() >= mine
        assert _alive.any_undecoded() or not mine


@pytest.mark.usefixtures("frequent_switches")
def test_threads(lazy_type: type[LazyEntity]) -> None:
    """No thread ever finds fewer than it has itself."""
    together(THREADS, partial(_come_and_go, lazy_type))


def test_templates_do_not_count() -> None:
    """A template that lasts is no entity, whether it is there or gone."""
    # Entities that earlier tests left could be collected in the middle.
    gc.collect()
    before = _alive.undecoded_count()
    template = Template({**undecoded_template(f"name {index}" for index in range(50)), "other": 1})
    assert _alive.undecoded_count() == before
    storage = dict(template)
    assert _alive.undecoded_count() == before + 50
    del template
    assert _alive.undecoded_count() == before + 50
    del storage
    assert _alive.undecoded_count() == before


def test_own_modules_do_not_count() -> None:
    """Modules of lazyentity have the sentinel by name. Others may drop its name at any time."""
    assert forks.answer("-c", _MODULES) == [0, 2, True, 9, True]


_MODULES = """
import json, sys, types
from google.cloud.datastore_v1.types import entity as entity_pb2
from lazyentity import LazyEntity, _alive
from lazyentity.codec import undecoded

counts = [_alive.undecoded_count()]
message = entity_pb2.Entity(properties={str(index): {"integer_value": index} for index in range(9)})
module = sys.modules["more"] = types.ModuleType("more")
module.some = module.other = undecoded.UNDECODED
counts += [_alive.undecoded_count(), _alive.any_undecoded()]
entity = LazyEntity.from_bytes(entity_pb2.Entity.serialize(message))
module.some = module.other = None
sys.modules[1] = module
counts += [_alive.undecoded_count(), _alive.any_undecoded()]
print(json.dumps(counts))
"""


def test_settled() -> None:
    """Iterators are not settled in any case, nor is an entity that was not read."""
    entity = LazyEntity.from_bytes(RICH)
    assert not _alive.are_settled((1,), {"value": entity})
    assert not _alive.each_settled([{"name": [entity]}])
    assert not _alive.each_settled([iter([])])
    assert not _alive.are_settled((), {"value": (number for number in range(3))})


class _Held:
    """An object that can hold anything."""


def test_bare() -> None:
    """A bare value leads to no entity and to no code, whether entities are alive or not."""
    entity: Any = LazyEntity.from_bytes(RICH)
    cycle: list[Any] = []
    cycle.append(cycle)
    code: list[Any] = [iter([]), {1}, {"a": 1}.values(), type("L", (list,), {})()]
    held: list[Any] = [entity, _Held(), cycle, *code]
    for each in held:
        assert not _alive.is_bare(each)
        assert not _alive.is_bare([{"name": (1, each)}])
        assert not _alive.are_bare((1, each), None)
        assert not _alive.are_bare((), {"name": each})
    dict(entity)
    assert not _alive.is_bare(entity)
    bare = {"a": [1, None, "x"], "b": (1.5, {"c": b"", "d": True}), "e": print, "f": str}
    assert _alive.is_bare(bare)
    assert _alive.are_bare((bare, 1), {"name": bare})


def test_containers_that_share_others() -> None:
    """The look ends soon; without that it would meet the innermost one ten billion times."""
    shared: list[Any] = [1]
    for _ in range(5):
        shared = [shared] * 100
    assert not _alive.is_bare(shared)
