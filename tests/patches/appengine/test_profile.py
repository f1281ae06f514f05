"""A profile of reads by App Engine's bundled clients, over the services in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore
from google.appengine.ext import ndb
from google.appengine.ext.ndb import context, model, tasklets

import lazyentity
from lazyentity.profiling.counters import EVERY_PROPERTY
from lazyentity.profiling.report import Report
from tests.patches.appengine.services import lazily
from tests.patches.appengine.test_reads import stored

pytestmark = pytest.mark.usefixtures("bed")


class Profiled(ndb.Model):
    name = ndb.StringProperty()
    number = ndb.IntegerProperty()
    tags = ndb.StringProperty(repeated=True)


def _profiled(read: Callable[[], Any]) -> Report:
    with lazily(), lazyentity.profile() as profile:
        read()
    return profile.report()


def test_decoding_everything() -> None:
    key = stored()
    size = len(datastore.Get(key).ToPb().SerializePartialToString())
    report = _profiled(lambda: datastore.Get(key).items())
    assert report.sites[0].site.file == __file__
    assert [(kind.entities, kind.bytes) for kind in report.kinds] == [(1, size)]
    (whole,) = report.wholes
    assert (whole.operation, whole.kind, whole.calls) == (EVERY_PROPERTY, "Kind", 1)
    assert whole.properties == len(datastore.Get(key))


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
    (kind,) = report.kinds
    assert (kind.kind, kind.entities) == ("Profiled", 3)
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert decoded == {"number": 3, "tags": 3}
    assert "wrap() takes only" in report.sites[0].suggestion.reason
