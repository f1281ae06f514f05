"""Pickles and copies are stock entities, so that loading them does not need lazyentity."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest
from google.cloud.datastore.entity import Entity

from lazyentity import LazyEntity
from tests.support.snapshots import snapshot
from tests.support.stock import lazy_entities_in, stock_entity
from tests.support.strategies.samples import PLAIN, RICH

# Imitates a process that has the client but not this library.
LOAD_WITHOUT_LAZYENTITY = """
import pickle, sys
sys.modules["lazyentity"] = None
entity = pickle.load(sys.stdin.buffer)
assert type(entity).__module__ == "google.cloud.datastore.entity", type(entity)
assert not [name for name in sys.modules if name.startswith("lazyentity.")]
pickle.dump(entity, sys.stdout.buffer)
"""


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_mentions_only_the_client(lazy_type: type[LazyEntity], protocol: int) -> None:
    """A pickle names nothing of this library, and the loaded entity is stock at every depth."""
    for raw in (PLAIN, RICH):
        pickled = pickle.dumps(lazy_type.from_bytes(raw), protocol)
        assert b"lazyentity" not in pickled
        loaded = pickle.loads(pickled)
        assert type(loaded) is Entity
        assert lazy_entities_in(loaded) == []
        # Not all that a stock entity holds survives pickling: nanoseconds of a timestamp do not.
        assert snapshot(loaded) == snapshot(pickle.loads(pickle.dumps(stock_entity(raw), protocol)))


def test_across_processes(lazy_type: type[LazyEntity]) -> None:
    """A process where lazyentity cannot be imported loads the entity and sends it on."""
    for raw in (PLAIN, RICH):
        finished = subprocess.run(
            [sys.executable, "-c", LOAD_WITHOUT_LAZYENTITY],
            input=pickle.dumps(lazy_type.from_bytes(raw)),
            capture_output=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr.decode()
        expected = pickle.loads(pickle.dumps(stock_entity(raw)))
        assert snapshot(pickle.loads(finished.stdout)) == snapshot(expected)


def test_a_copy_is_independent(lazy_type: type[LazyEntity]) -> None:
    """A deep copy shares nothing that can be changed; the original stays as it was."""
    lazy = lazy_type.from_bytes(RICH)
    duplicate = copy.deepcopy(lazy)
    duplicate["inner"]["deep"].append(1)
    duplicate["inners"].clear()
    duplicate.exclude_from_indexes.clear()
    duplicate._meanings.clear()
    assert snapshot(lazy) == snapshot(stock_entity(RICH))


def test_an_entity_in_itself(lazy_type: type[LazyEntity]) -> None:
    """Cycles are kept: the copy holds itself."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    for entity in (lazy, stock):
        entity["self"] = [entity]
        made = copy.deepcopy(entity)
        assert made["self"][0] is made
        made = pickle.loads(pickle.dumps(entity))
        assert made["self"][0] is made
        assert "..." in repr(entity)
