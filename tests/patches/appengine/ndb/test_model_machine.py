"""Any sequence of operations on a model has the results and effects that it has in stock ndb."""

from __future__ import annotations

from typing import Any

from google.appengine.ext import ndb
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.patches.appengine.ndb.pairs import Pair, fixed_now
from tests.patches.appengine.ndb.strategies import changed_entities, stored_entities
from tests.patches.models.machine import ModelTwins, converts, run
from tests.patches.models.shapes import Stored


def _converts(stored: Stored) -> bool:
    return converts(Pair, stored.raw)


class Twins(ModelTwins):
    ndb = ndb

    def __init__(self) -> None:
        super().__init__(fixed_now())

    @initialize(stored=st.one_of(stored_entities(), changed_entities()).filter(_converts))
    def make(self, stored: Stored) -> None:
        self.start(stored.shape, Pair.of(stored.raw))

    @staticmethod
    def in_values(name: str) -> bytes:
        """Return a stored name in the form that it has in ``_values``."""
        return name.encode()

    @staticmethod
    def listed(values: Any) -> list[Any]:
        """Return the names in ``_values``."""
        return list(values)

    @rule(set_key=st.booleans())
    def convert(self, set_key: bool) -> None:
        self.pair.both(lambda entity: entity._to_pb(set_key=set_key))


def test_operations_in_any_order() -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    run(Twins)
