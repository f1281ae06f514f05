"""Any sequence of operations on a model has the results and effects that it has in stock ndb."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.patches.models.machine import ModelTwins, converts, run
from tests.patches.models.shapes import Stored
from tests.patches.ndb.model_strategies import changed_entities, stored_entities
from tests.patches.ndb.pairs import LEGACY, Pair, context


def _converts(stored: Stored) -> bool:
    return converts(Pair, stored.raw)


class Twins(ModelTwins):
    ndb = ndb

    def __init__(self, *, legacy_data: bool) -> None:
        super().__init__(context(legacy_data=legacy_data))

    @initialize(stored=st.one_of(stored_entities(), changed_entities()).filter(_converts))
    def make(self, stored: Stored) -> None:
        self.start(stored.shape, Pair.of(stored.raw))

    @staticmethod
    def type_of(value: Any) -> Any:
        """Return the type that stock's value has."""
        return Entity if isinstance(value, Entity) else type(value)

    @rule()
    def convert(self) -> None:
        self.pair.both(model._entity_to_ds_entity)


@pytest.mark.parametrize("legacy_data", LEGACY)
def test_operations_in_any_order(legacy_data: bool) -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    run(partial(Twins, legacy_data=legacy_data))
