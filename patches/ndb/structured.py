"""Structured properties that an entity has in parts, under dotted names.

ndb writes them so where a context has ``legacy_data``, which is its default: ``address.street`` and
``address.city`` are the parts of ``address``. ndb puts the parts together when it makes the model;
here that is done when the property is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.ndb import key as key_module, model

from lazyentity.patches.inheritance import inherits
from lazyentity.patches.ndb.seams import JOINING

_base_value: Any = model._BaseValue

Parts = dict[str, tuple[tuple[str, str], ...]]
"""By the stored name of a structured property: the names of its parts, each as the entity has it
and without the name of the property, in the order of the entity."""


def part_of(model_class: Any, name: str) -> Any:
    """Return the structured property that a dotted name is a part of; None, if there is none.

    Args:
        model_class: a subclass of ``ndb.Model``.
        name: as an entity has it.
    """
    code_name = model_class._code_name_from_stored_name(name.partition(".")[0])
    prop = getattr(model_class, code_name, None)
    return prop if isinstance(prop, model.StructuredProperty) else None


def stores_values(prop: Any) -> bool:
    """Whether the values of a property are stored as ndb's own classes store them."""
    return inherits(prop, ("_store_value",), model.Property)


def joins_parts(prop: Any) -> bool:
    """Whether the parts of a property become a value as ndb's own classes make it.

    ndb merges the parts into a default.
    """
    return inherits(prop, JOINING, model.Property) and prop._default is None


class Dotted:
    """Makes the base values of the structured properties that one entity has in parts.

    Args:
        parts: of the properties.
        context: the context of ndb in which the model is made: the keys of the sub-entities are of
            its project, database and namespace.
    """

    __slots__ = ("_location", "parts")

    def __init__(self, parts: Parts, context: Any) -> None:
        self.parts = parts
        client = context.client
        self._location = client.project, client.database, context.get_namespace()

    def made(self, prop: Any, entity: Any, value: Any = None) -> Any:
        """Make the base value of a property, or the list of them if it is repeated.

        Args:
            prop: the structured property.
            entity: the lazy entity.
            value: what the constructor of the model set; it gets the parts.

        Raises:
            TypeError: as ndb, if the property has no class.
            google.protobuf.message.DecodeError, ValueError: if a part cannot be decoded.
        """
        # As ndb's _entity_from_ds_entity(), for the parts of a property.
        parts = [(name, entity[full_name]) for full_name, name in self.parts[prop._name]]
        if value is None:
            value = [] if prop._repeated else self._new(prop)
        if not prop._repeated:
            value.b_val.update(parts)
            return value
        for name, items in parts:
            # A projection has single values; old entities have lists of different lengths.
            column = items if isinstance(items, list) else [items]
            value += [self._new(prop) for _ in range(len(column) - len(value))]
            for item, part in zip(value, column, strict=False):
                item.b_val.update({name: part})
        return value

    def completing(self, instance: Any, values: Any) -> dict[str, Any]:
        """Return the base values of those properties that the constructor of a model has set.

        Args:
            instance: the model, whose values are set by the constructor alone.
            values: the lazy values that it gets.

        Raises:
            As :meth:`made`.
        """
        properties = values._mapping.properties
        constructed = [properties[name] for name in self.parts if name in instance._values]
        return {
            prop._name: self.made(prop, values._entity, prop._get_base_value(instance))
            for prop in constructed
        }

    def _new(self, prop: Any) -> Any:
        if prop._model_class is None:
            raise TypeError("structprop._model_class cannot be None")
        project, database, namespace = self._location
        kind = prop._model_class._get_kind()
        key = key_module.Key(kind, None, project=project, database=database, namespace=namespace)
        return _base_value(Entity(key._key))


def in_parts(names: Iterable[tuple[str, str]]) -> Parts:
    """Group parts by their property.

    Args:
        names: of each part, the stored name of its property and its own full name.
    """
    parts: dict[str, list[tuple[str, str]]] = {}
    for stored_name, name in names:
        parts.setdefault(stored_name, []).append((name, name[len(stored_name) + 1 :]))
    return {stored_name: tuple(found) for stored_name, found in parts.items()}
