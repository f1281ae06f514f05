"""Classes that have a part in making their models, and classes that change."""

from __future__ import annotations

import itertools
from typing import Any
from unittest import mock

import pytest
from google.appengine.ext import db

from tests.patches.appengine.db.handmade import CLASSES, raw_entity
from tests.patches.appengine.db.pairs import (
    is_lazy,
    is_raised,
    lazy_model,
    made_alike,
)
from tests.support.concurrency import switching_often, together


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_made_by_db(kind: Any) -> None:
    """A class whose methods have a part in making models has them made by db."""
    values = dict.fromkeys(("name", "app", "key", "key_name", "parent", "self"), "n")
    raw = raw_entity(kind.kind(), **values)
    assert is_raised(made_alike(raw)) or not is_lazy(lazy_model(raw))


@pytest.mark.parametrize("is_there", [False, True])
def test_defaults_that_depend_on_the_time(is_there: bool) -> None:
    """They are computed when the model is made."""

    class Counted(db.StringProperty):
        def default_value(self) -> Any:
            return f"default {next(numbers)}"

    class Timed(db.Model):
        counted = Counted()
        added = db.DateTimeProperty(auto_now_add=True)

    numbers = itertools.count()
    model = lazy_model(raw_entity("Timed", **({"counted": "c"} if is_there else {})))
    moment = db.DateTimeProperty.now()
    with mock.patch.object(db.DateTimeProperty, "now", staticmethod(lambda: None)):
        next(numbers)
        assert model.added == moment
        assert model.counted == ("c" if is_there else "default 0")


class Tagged(db.Model):
    """A model with a value that is not the same object if it is made twice."""

    tags = db.StringListProperty()


def test_threads() -> None:
    """All threads get the same object, and one that was assigned meanwhile stays."""
    for _ in range(20):
        model = lazy_model(raw_entity("Tagged", tags=["a", "b"]))
        with switching_often():
            read = together(4, lambda _: model.tags)  # noqa: B023
        assert {id(tags) for tags in read} == {id(model.tags)}
