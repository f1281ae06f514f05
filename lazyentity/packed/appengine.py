"""The packed property of App Engine's bundled ndb."""

from __future__ import annotations

from google.appengine.ext import ndb

from lazyentity.packed.properties import PackedValues


class PackedProperty(PackedValues, ndb.BlobProperty):  # type: ignore[misc]  # ndb is untyped
    """A property of App Engine's ndb models that holds a document: see :class:`PackedValues`."""

    _base_value = ndb.model._BaseValue
