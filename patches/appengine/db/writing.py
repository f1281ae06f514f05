"""Writing a model: properties that were never read go back as they came."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.appengine.api import datastore_types
from google.appengine.datastore import entity_bytes_pb2 as entity_pb2
from google.appengine.ext import db

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.db.attributes import LazyAttributes
from lazyentity.patches.appengine.db.seams import PART, VALIDATING
from lazyentity.patches.inheritance import inherits

_found = dict.get
_RAW_MEANINGS = datastore_types._RAW_PROPERTY_MEANINGS

_SENT_AS_READ = {
    ("__get__",): (db.Property,),
    ("get_value_for_datastore", "make_value_from_datastore"): (db.Property, db.ListProperty),
    ("validate",): tuple(getattr(db, name) for name in VALIDATING),
}
"""The methods that write a value as it was read, and db's classes whose methods do."""

_FIELDS: dict[type, str] = {
    bool: "booleanValue",
    datetime.datetime: "int64Value",
    float: "doubleValue",
    int: "int64Value",
    datastore_types.Rating: "int64Value",
    **dict.fromkeys(
        (
            str,
            datastore_types.Blob,
            datastore_types.ByteString,
            datastore_types.Category,
            datastore_types.Email,
            datastore_types.Link,
            datastore_types.PhoneNumber,
            datastore_types.PostalAddress,
            datastore_types.Text,
        ),
        "stringValue",
    ),
}
_Form = tuple[list[str], Any]
_FORMS: dict[type, _Form] = {
    kind: ([name], datastore_types._PROPERTY_MEANINGS.get(kind)) for kind, name in _FIELDS.items()
}
"""The form of the values of a type: the fields of the message, and its meaning."""
_NULL: _Form = ([], None)


def _forms_of(prop: Any) -> Sequence[_Form]:
    """Return the forms of the values that db writes as it reads them; none, if it may not."""
    if not all(inherits(prop, names, *bases) for names, bases in _SENT_AS_READ.items()):
        return ()
    if isinstance(prop, db.ListProperty):
        form = _FORMS.get(prop.item_type)
        return () if form is None else (form,)
    form = _FORMS.get(prop.data_type)
    return () if form is None else (form, _NULL)


def _form_of(message: Any) -> _Form:
    fields = [field.name for field, _ in message.value.ListFields()]
    return fields, message.meaning if message.HasField("meaning") else None


def _sent_unchanged(
    index: Any, unread: Mapping[str, tuple[Sequence[_Form], bool]], unindexed: Any
) -> set[str]:
    """Return the names of the unread properties that db would send as they came.

    Args:
        index: of the lazy entity.
        unread: by name, the forms of values that db writes as it reads them, and whether the
            property is a list.
        unindexed: the names of the properties that the model does not index.
    """
    received = entity_pb2.EntityProto()
    received.MergeFromString(index.fields(unread))
    entries: dict[str, list[tuple[Any, bool]]] = {}
    for messages, is_raw in ((received.property, False), (received.raw_property, True)):
        for message in messages:
            entries.setdefault(message.name, []).append((message, is_raw))
    unchanged = set()
    for name, (forms, is_list) in unread.items():
        of_name = entries.get(name, ())
        multiple = {message.multiple for message, _ in of_name}
        # Of several values of what is no list, db keeps one.
        if multiple == {is_list} and (is_list or len(of_name) == 1):
            for message, is_raw in of_name:
                form = _form_of(message)
                is_sent_raw = name in unindexed or form[1] in _RAW_MEANINGS
                if form not in forms or is_raw is not is_sent_raw:
                    break
            else:
                unchanged.add(name)
    return unchanged


def to_entity(original: Callable[[Any, Any], None], model: Any, entity: Any) -> None:
    """Copy the values of a model to an entity.

    Args:
        original: db's own ``Model._to_entity``.
        model: a model.
        entity: its entity or another one, or a dict.

    Raises:
        As ``original``, and as db when it makes the model.
    """
    attributes = _source_of(model, entity)
    if attributes is None:
        original(model, entity)
        return
    properties = list(model.properties().values())
    unread = {
        prop.name: (forms, isinstance(prop, db.ListProperty))
        for prop in properties
        if _found(entity, prop.name) is UNDECODED
        and attributes.is_unread(prop)
        and (forms := _forms_of(prop))
    }
    unindexed = model._unindexed_properties
    unchanged = _sent_unchanged(entity._index, unread, unindexed)
    for prop in properties:
        # A computed property may have read it meanwhile, or given it, or the entity, a value.
        if (
            prop.name not in unchanged
            or not attributes.is_unread(prop)
            or _found(entity, prop.name) is not UNDECODED
        ):
            model._Model__set_property(entity, prop.name, prop.get_value_for_datastore(model))
    entity.set_unindexed_properties(unindexed)


def _source_of(model: Any, entity: Any) -> Any:
    """Return the attributes of a lazy model that was made of this entity; None for others."""
    attributes = model.__dict__
    if type(attributes) is LazyAttributes and attributes._source is entity and PART.is_intact():
        return attributes
    return None
