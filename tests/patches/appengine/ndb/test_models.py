"""A model that is read under the patch is to its user the model that stock ndb makes."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from tests.patches.appengine.ndb.pairs import Pair
from tests.patches.appengine.ndb.snapshots import LEFT_OUT, described
from tests.patches.appengine.ndb.strategies import changed_entities, stored_entities
from tests.patches.models.cases import ENTITIES, ModelCases, Operation
from tests.patches.models.pairs import FEWER
from tests.patches.models.shapes import Stored


class TestModels(ModelCases):
    pair = Pair
    stored = stored_entities()
    changed = changed_entities()
    left_out = LEFT_OUT

    @staticmethod
    def in_values(name: str) -> bytes:
        """Return a stored name in the form that it has in ``_values``."""
        return name.encode()

    @staticmethod
    def of_values(name: Any) -> list[Operation]:
        """Return what google-cloud-ndb, which does not keep the order, does not have."""
        return [list]

    @FEWER
    @given(stored=ENTITIES)
    def test_described_properties(self, stored: Stored) -> None:
        """The properties are the same, those that the class does not define included."""
        pair = Pair.assumed(stored.raw)
        pair.both(described)
        pair.agree()

    @FEWER
    @given(stored=ENTITIES)
    def test_what_memcache_gets(self, stored: Stored) -> None:
        """The entity that a model becomes is the same, read or not, with its key or without."""
        pair = Pair.assumed(stored.raw)
        pair.both(lambda entity: entity._to_pb(set_key=False))
        pair.both(lambda entity: entity._to_pb())
        pair.both(lambda entity: entity._to_pb(allow_partial=True))
        pair.agree()
        pair.both(lambda entity: entity._to_pb(set_key=False))
