"""Properties of an entity that its model class does not define.

ndb makes a ``GenericProperty`` of each when it makes the model, of an ``Expando`` or not. Here each
is made when it is first asked for.
"""

from __future__ import annotations

from typing import Any

from google.appengine.ext.ndb import model

from lazyentity.patches.appengine.messages import property_messages
from lazyentity.patches.appengine.ndb.upstream import methods, upstream_function
from lazyentity.storage.lazyvaluedict import LazyValueDict

_GenericProperty: Any = model.GenericProperty
_raw_field = b"z"[0]
"""The first byte of a ``raw_property`` of an entity."""

# The functions that make such a property of a model.
_MAKING = methods(model.Model, "_clone_properties", "_fake_property")
_init = upstream_function(_GenericProperty, "__init__")


def are_made_by_ndb(model_class: Any) -> bool:
    """Say whether a model class gets such properties as ndb itself makes them."""
    return _GenericProperty.__init__ is _init and _MAKING.are_upstream(model_class)


class OrphanProperties(LazyValueDict):
    """The properties of a model; properties that its class lacks are made when asked for."""

    __slots__ = ("_index",)

    _index: Any
    """The index of the entity."""

    def _compute(self, name: Any) -> Any:
        first = property_messages(self._index, name)[0]
        is_indexed = self._index.fields((name,))[0] != _raw_field
        made = _GenericProperty(
            name,
            repeated=first.multiple,
            indexed=is_indexed,
            compressed=first.meaning_uri == model._MEANING_URI_COMPRESSED,
        )
        made._code_name = name
        return made


def properties_of(index: Any, template: dict[str, Any]) -> OrphanProperties:
    """Return the properties of a model.

    Args:
        index: of its entity.
        template: the properties of its class, and ``UNDECODED`` for the others.
    """
    properties = OrphanProperties()
    properties._index = index
    dict.update(properties, template)
    return properties
