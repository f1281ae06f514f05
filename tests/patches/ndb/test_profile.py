"""A profile of reads by ndb: properties count when the attributes of models are read."""

from __future__ import annotations

from google.cloud import ndb

import lazyentity
from lazyentity.codec.tallies import EVERY_PROPERTY
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import COUNT, Item


def test_attributes(loopback_sides: Sides) -> None:
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        found = Item.query().fetch()
        for item in found:
            item.number  # noqa: B018  # reads
            item.text  # noqa: B018  # reads
        ndb.Key(Item, 1).get(use_cache=False, use_global_cache=False)
    report = profile.report()
    (kind,) = report.kinds
    assert (kind.kind, kind.entities) == ("Item", COUNT + 1)
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert sorted(decoded.values()) == [COUNT, COUNT]
    assert {reads.site.file for reads in report.sites} == {__file__}
    assert all("wrap() takes only" in reads.suggestion.reason for reads in report.sites)


def test_whole_models(loopback_sides: Sides) -> None:
    """``to_dict()`` of a model reads attribute by attribute, and counts as one operation."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for item in Item.query().fetch():
            item.to_dict()
    report = profile.report()
    (whole,) = report.wholes
    assert [kind.kind for kind in report.kinds] == ["Item"], "models in models are no entities"
    assert (whole.operation, whole.kind, whole.calls) == (EVERY_PROPERTY, "Item", COUNT)
    assert whole.site.file == __file__
    assert whole.site.via.startswith("google.cloud.ndb.")
