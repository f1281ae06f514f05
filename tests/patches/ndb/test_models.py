"""A model that is read under the patch is to its user the model that stock ndb makes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from google.cloud.ndb import model
from hypothesis import given

from tests.patches.models.cases import ENTITIES, ModelCases, Operation
from tests.patches.models.pairs import FEWER
from tests.patches.models.shapes import Stored
from tests.patches.ndb.model_strategies import changed_entities, stored_entities
from tests.patches.ndb.pairs import Pair
from tests.patches.ndb.raw_entities import names_in

pytestmark = pytest.mark.usefixtures("either_context")


class TestModels(ModelCases):
    pair = Pair
    stored = stored_entities()
    changed = changed_entities()

    @staticmethod
    def of_values(name: Any) -> list[Operation]:
        """Return what App Engine's ndb, whose values hold the names as bytes, does not have."""
        return [
            copy.deepcopy,
            lambda values: {**values},
            lambda values: pickle.loads(pickle.dumps(values)),
            lambda values: dict([], **values) if all(map(str.isidentifier, values)) else None,
            lambda values: len(list(reversed(values))),
        ]

    @staticmethod
    def is_made_at_once(stored: Stored) -> bool:
        """Say whether a structured property is there as a whole and in parts."""
        names = names_in(stored.raw)
        return any("." in name and name.partition(".")[0] in names for name in names)

    @FEWER
    @given(stored=ENTITIES)
    def test_conversion_back(self, stored: Stored) -> None:
        """The entity that a model becomes is the same, read or not."""
        pair = Pair.assumed(stored.raw)
        pair.both(model._entity_to_ds_entity)
        pair.both(lambda entity: model._entity_to_ds_entity(entity, set_key=False))
        pair.agree()
