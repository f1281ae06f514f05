"""The packed property in models of App Engine's ndb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.appengine.ext import ndb

from lazyentity.packed.appengine import PackedProperty
from tests.patches.appengine.ndb.services import fresh
from tests.patches.models.packed import Context, PackedCases, orders


@pytest.fixture
def context(bed: Any) -> Context:
    """Enters a context of services in memory."""

    @contextmanager
    def entered() -> Iterator[None]:
        made = fresh()
        made.set_cache_policy(lambda _: False)
        made.set_memcache_policy(lambda _: False)
        yield

    return entered


class TestPacked(PackedCases):
    client = "appengine"
    models = orders(ndb, PackedProperty)
    packed_property = PackedProperty
    shows_what_it_puts = True
