"""A profile of reads by ndb: properties count when the attributes of models are read."""

from __future__ import annotations

from typing import Any

import pytest

import lazyentity
from tests.patches.ndb import stored
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import COUNT, Dotted, Item


@pytest.mark.parametrize(("kind", "count"), [(Item, COUNT), (Dotted, 2)])
def test_whole_models(loopback_sides: Sides, kind: Any, count: int) -> None:
    """``to_dict()`` of a model reads attribute by attribute, at the line that calls it."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for found in kind.query().fetch():
            found.to_dict()
    report, name = profile.report(), kind.__name__
    assert [each.kind for each in report.kinds] == [name], "models in models are no entities"
    # A computed property reads others, in the file of its model.
    files = {line.site.file for line in report.decoded if line.kind == name}
    assert files in ({__file__}, {__file__, stored.__file__})
    decoded = report.kinds[0].properties_decoded
    assert sum(line.times for line in report.decoded) == decoded >= count
    assert not report.advice


def test_parts_of_structured_properties(loopback_sides: Sides) -> None:
    """A structured property counts as the parts that the entity has."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for found in Dotted.query().fetch():
            found.address  # noqa: B018  # reads
    (kind,) = profile.report().kinds
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert decoded == {"address.street": 2, "address.c": 2}
