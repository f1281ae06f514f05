"""The packed property of google-cloud-ndb."""

from __future__ import annotations

from google.cloud import ndb

from lazyentity.packed.properties import PackedValues


class PackedProperty(PackedValues, ndb.BlobProperty):  # type: ignore[misc]  # ndb is untyped
    """A property of google-cloud-ndb's models that holds a document: see :class:`PackedValues`."""

    _base_value = ndb.model._BaseValue
