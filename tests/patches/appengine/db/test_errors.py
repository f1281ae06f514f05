"""Values that db refuses: the error comes when the value is read, and the others can be read."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore_errors
from google.appengine.datastore import entity_bytes_pb2 as entity_pb2
from google.appengine.ext import db

from tests.patches.appengine.db.handmade import raw_entity
from tests.patches.appengine.db.pairs import (
    is_lazy,
    is_raised,
    lazy_model,
    seen,
    stock_model,
)

GOOD = {"required": "r", "number": 1, "checked": "c", "plain": "p"}
BAD: dict[str, dict[str, Any]] = {
    "required": {"required": None},
    "number": {"number": "text"},
    "checked": {"checked": "bad"},
}


def _malformed() -> bytes:
    proto = entity_pb2.EntityProto.FromString(raw_entity("Strict", **GOOD))
    next(entry for entry in proto.property if entry.name == "number").value.stringValue = b"\xff"
    raw: bytes = proto.SerializeToString()
    return raw


CASES = {name: raw_entity("Strict", **{**GOOD, **values}) for name, values in BAD.items()}
CASES["missing"] = raw_entity("Strict", **{**GOOD, "required": []})
CASES["malformed"] = _malformed()
FAILING = {**{name: name for name in BAD}, "missing": "required", "malformed": "number"}


WHOLE: list[Callable[[Any], Any]] = [
    lambda model: dict(vars(model)),
    db.to_dict,
    pickle.dumps,
    copy.copy,
]
"""Functions that need all values."""


@pytest.mark.parametrize("case", CASES)
def test_the_error_of_making_the_model_is_that_of_reading(case: str) -> None:
    """At every read of that one property, with a note, and of all; the rest can be read."""
    raw, failing = CASES[case], FAILING[case]
    stock = seen(lambda: stock_model(raw))
    assert is_raised(stock)
    model = lazy_model(raw)
    assert is_lazy(model)
    for name, value in GOOD.items():
        if name != failing:
            assert getattr(model, name) == value
    read: Any = operator.attrgetter(failing)
    for use in (read, read, *WHOLE):
        model = model if use is read else lazy_model(raw)
        assert _without_trace(seen(lambda: use(model))) == _without_trace(stock)  # noqa: B023
    with pytest.raises(datastore_errors.Error) as caught:
        read(lazy_model(raw))
    notes = "".join(caught.value.__notes__)
    assert repr(failing) in notes
    assert "Strict" in notes


def _without_trace(result: Any) -> Any:
    # The text of an error of the API has a traceback in it.
    return (*result[:2], result[2].splitlines()[0])


def test_an_attribute_error_is_not_taken_for_a_missing_attribute() -> None:
    """An AttributeError would tell db that there is no value, and data would be lost."""
    raw = raw_entity("Strict", **{**GOOD, "checked": "worse"})
    assert seen(lambda: stock_model(raw))[1] is AttributeError
    model = lazy_model(raw)
    for read in (lambda: model.checked, lambda: model._checked, lambda: dict(vars(model))):
        with pytest.raises(RuntimeError, match="checked") as caught:
            read()
        assert isinstance(caught.value.__cause__, AttributeError)
