"""A profile of reads by App Engine's bundled clients, over the services in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore
from google.appengine.ext import db, ndb
from google.appengine.ext.ndb import context, model, tasklets

import lazyentity
from lazyentity.profiling.counters import EVERY_PROPERTY
from lazyentity.profiling.report import Report
from tests.patches.appengine.test_reads import stored

pytestmark = pytest.mark.usefixtures("bed")


class Profiled(ndb.Model):
    name = ndb.StringProperty()
    number = ndb.IntegerProperty()
    tags = ndb.StringProperty(repeated=True)


class CountedInDb(db.Model):
    name = db.StringProperty()
    number = db.IntegerProperty()


def _profiled(read: Callable[[], Any]) -> Report:
    lazyentity.patch("appengine", strict=True)
    try:
        with lazyentity.profile() as profile:
            read()
    finally:
        lazyentity.unpatch("appengine")
    return profile.report()


def _decoded(report: Report) -> dict[str, int]:
    (kind,) = report.kinds
    return {each.name: each.decoded for each in kind.properties if each.decoded}


def test_entities() -> None:
    key = stored()
    size = len(datastore.Get(key).ToPb().SerializePartialToString())

    def read() -> None:
        entity = datastore.Get(key)
        entity["rating"], entity["rating"], entity.get("numbers")

    report = _profiled(read)
    (kind,) = report.kinds
    assert (kind.kind, kind.entities, kind.bytes) == ("Kind", 1, size)
    assert _decoded(report) == {"rating": 1, "numbers": 1}
    assert report.sites[0].site.file == __file__


def test_decoding_everything() -> None:
    key = stored()
    report = _profiled(lambda: datastore.Get(key).items())
    (whole,) = report.wholes
    assert (whole.operation, whole.kind, whole.calls) == (EVERY_PROPERTY, "Kind", 1)
    assert whole.properties == len(datastore.Get(key))


def test_eager() -> None:
    key = stored()

    def read() -> None:
        with lazyentity.eager():
            datastore.Get(key)

    (kind,) = _profiled(read).kinds
    assert (kind.entities, kind.eager) == (0, 1)


def test_models_of_ndb() -> None:
    for number in range(3):
        Profiled(name="one", number=number, tags=["a", "b"]).put()
    tasklets.set_context(context.Context(model.make_connection()))

    def read() -> None:
        for each in Profiled.query().fetch():
            each.number  # noqa: B018  # reads
            each.number  # noqa: B018
            each.tags  # noqa: B018

    report = _profiled(read)
    assert (report.kinds[0].kind, report.kinds[0].entities) == ("Profiled", 3)
    assert _decoded(report) == {"number": 3, "tags": 3}
    assert "wrap() takes only" in report.sites[0].suggestion.reason


def test_models_of_db() -> None:
    CountedInDb(name="one", number=1).put()
    report = _profiled(lambda: [each.number for each in CountedInDb.all()])
    assert (report.kinds[0].kind, report.kinds[0].entities) == ("CountedInDb", 1)
    assert _decoded(report) == {"number": 1}
