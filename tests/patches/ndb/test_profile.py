"""A profile of reads by ndb: properties count when the attributes of models are read."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import model

import lazyentity
from lazyentity.profiling.counters import EVERY_PROPERTY
from tests.patches.ndb.pairs import received
from tests.patches.ndb.raw_entities import entity_of
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import COUNT, Dotted, Item, Loose


@pytest.mark.parametrize(("kind", "count"), [(Item, COUNT), (Dotted, 2)])
def test_whole_models(loopback_sides: Sides, kind: Any, count: int) -> None:
    """``to_dict()`` of a model reads attribute by attribute, and counts as one operation."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for found in kind.query().fetch():
            found.to_dict()
    report, name = profile.report(), kind.__name__
    (whole,) = report.wholes
    assert [each.kind for each in report.kinds] == [name], "models in models are no entities"
    assert (whole.operation, whole.kind, whole.calls) == (EVERY_PROPERTY, name, count)
    assert whole.site.file == __file__
    assert whole.site.via.startswith("google.cloud.ndb.")


def test_parts_of_structured_properties(loopback_sides: Sides) -> None:
    """A structured property counts as the parts that the entity has."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for found in Dotted.query().fetch():
            found.address  # noqa: B018  # reads
    (kind,) = profile.report().kinds
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert decoded == {"address.street": 2, "address.c": 2}


class _Storing(ndb.StringProperty):
    def _store_value(self, entity: Any, value: Any) -> None:
        super()._store_value(entity, value)


class StoringItself(ndb.Model):
    number = ndb.IntegerProperty()
    stored = _Storing()


class BuiltExpando(ndb.Expando):
    def __init__(self, **values: Any) -> None:
        super().__init__(**values)


@pytest.mark.parametrize(
    ("kind", "values", "reason"),
    [
        (StoringItself, {"number": 1, "stored": "a"}, "'stored' overrides how a value is stored"),
        (BuiltExpando, {"dynamic": 1}, "has a constructor of its own"),
        (Loose, {"number": 1, "ndb.other": 2}, "'ndb.other' cannot be the name of a dynamic"),
    ],
)
def test_models_that_ndb_makes(
    loopback_sides: Sides, kind: Any, values: dict[str, Any], reason: str
) -> None:
    """A report says why their properties were all decoded."""
    raw = entity_of(kind.__name__, values)
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        found = model._entity_from_protobuf(received(raw))
    assert type(found) is kind
    (reads,) = profile.report().sites
    assert "Decoded as a whole: ndb itself makes these models:" in reads.suggestion.reason
    assert reason in reads.suggestion.reason
