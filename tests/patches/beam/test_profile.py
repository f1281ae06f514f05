"""A profile of entities that become elements of a pipeline."""

from __future__ import annotations

import pickle

from apache_beam.io.gcp.datastore.v1new import types

import lazyentity
from tests.profiling.receiving import FIVE, Response
from tests.support import hostile


def test_elements() -> None:
    """Reads of elements count for the site of their entities, which can have no options."""
    lazyentity.patch("beam")
    with lazyentity.profile() as profile:
        entities = Response(lazyentity.backend, [FIVE] * 3).entities()
        elements = [types.Entity.from_client_entity(entity) for entity in entities]
        del entities
        names = hostile.Name("a"), "a"
        assert [each.properties[name] for name in names for each in elements] == [1] * 6
        assert elements[0].properties.get("b") == elements[0].properties["b"]
        assert len(dict(elements[2].properties.items())) == 5
    report = profile.report()
    assert "a" in profile.table()
    (reads,) = report.sites
    assert reads.entities == 3
    assert not reads.suggestion.options
    assert reads.suggestion.reason.startswith("wrap() takes only")
    (kind,) = report.kinds
    assert {found.name: found.decoded for found in kind.properties} == {
        "a": 3,
        "b": 2,
        "c": 1,
        "d": 1,
        "e": 1,
    }


def test_pickles() -> None:
    """An element of which nothing was changed is pickled as its bytes, while a profile runs too."""
    lazyentity.patch("beam")
    with lazyentity.profile():
        (entity,) = Response(lazyentity.backend, [FIVE]).entities()
        element = types.Entity.from_client_entity(entity)
        unread = pickle.dumps(element)
        assert element.properties["a"] == 1
        assert pickle.dumps(element) == unread
    assert len(unread) < len(FIVE) + 100
    assert pickle.loads(unread) == element
