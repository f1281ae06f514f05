"""Taking the patch of ext.db back, and what stands in place of its functions."""

from __future__ import annotations

import pickle

import pytest
from google.appengine.ext import db

import lazyentity
from tests.patches.appengine.db.handmade import Animal, Cat, raw_entity
from tests.patches.appengine.db.pairs import is_lazy, seen, snapshot, stock_model
from tests.patches.appengine.services import lazily
from tests.patches.models.cases import ON_ENTITIES
from tests.support.concurrency import switching_often, together


def test_patch_and_unpatch() -> None:
    """The methods that lazy models need stay, and do what stock's do for all others."""
    raw = raw_entity("Animal", legs=4)
    before = seen(lambda: Cat().unknown)
    with lazily():
        lazy = db.model_from_protobuf(raw)
    assert is_lazy(lazy)
    assert not is_lazy(db.model_from_protobuf(raw))
    assert seen(lambda: Cat().unknown) == before
    assert snapshot(lazy) == snapshot(stock_model(raw))


def test_functions_on_entities_refuse_models() -> None:
    """They take the model's entity instead."""
    with lazily():
        model = db.model_from_protobuf(raw_entity("Animal", legs=4))
        for function in ON_ENTITIES:
            with pytest.raises(TypeError, match="Animal"):
                function(model)
        assert lazyentity.decoded(model._entity) == ()
        assert model.legs == 4
        assert lazyentity.decoded(model._entity) == ("legs",)


def test_threads() -> None:
    """All threads get the same object, and one that was assigned meanwhile stays."""
    values = {"tags": ["a", "b"], "class": ["Animal"]}
    for _ in range(20):
        with lazily():
            model = db.model_from_protobuf(raw_entity("Tagged", **values))
        with switching_often():
            read = together(4, lambda _: model.tags)  # noqa: B023
        assert {id(tags) for tags in read} == {id(model.tags)}


class Tagged(db.Model):
    """A model with a value that is not the same object if it is made twice."""

    tags = db.StringListProperty()


def test_a_pickle_of_a_lazy_model_is_loaded_as_stock() -> None:
    with lazily():
        dumped = pickle.dumps(db.model_from_protobuf(raw_entity("Animal", legs=4)))
    loaded = pickle.loads(dumped)
    assert type(loaded.__dict__) is dict
    assert isinstance(loaded, Animal)
    assert loaded.legs == 4
