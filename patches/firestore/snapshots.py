"""Snapshots of documents whose fields are decoded when somebody asks for them.

A lazy snapshot is a plain ``DocumentSnapshot`` without its ``_data``, its times and mostly without
its reference. The class gets descriptors of these names, which decode the bytes of the response.
They stay there when the client is unpatched, for snapshots that live on: the client's own methods
read ``_data`` then.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from google.cloud.firestore_v1 import field_path as field_path_module
from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.protobuf.message import DecodeError

from lazyentity.codec.describing import add_note, safe_repr, safe_str
from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.firestore.documents import READER, stock_values
from lazyentity.patches.firestore.profiling import count_document, count_fields, count_value
from lazyentity.patches.firestore.responses import DocumentResponse
from lazyentity.patches.firestore.seams import CLIENT
from lazyentity.patches.firestore.sources import Source
from lazyentity.profiling import observer

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts

_new = object.__new__
_BYTES, _SOURCE = "_lazyentity_bytes", "_lazyentity_source"


class _Part:
    """An attribute of a lazy snapshot: made once, and then in the instance dictionary."""

    def __init__(self, name: str, make: Callable[[Any], Any]) -> None:
        self._name, self._make = name, make

    def __get__(self, snapshot: Any, owner: type) -> Any:
        attributes = None if snapshot is None else vars(snapshot)
        if attributes is None or _BYTES not in attributes:
            # As without this descriptor.
            kind = f"type object {safe_repr(owner.__name__)}"
            if snapshot is not None:
                kind = f"{safe_repr(owner.__name__)} object"
            raise AttributeError(f"{kind} has no attribute {safe_repr(self._name)}")
        # Of two threads both get the object of the first.
        return attributes.setdefault(self._name, self._make(snapshot))


def _response(attributes: Any) -> Any:
    return attributes[_SOURCE].kind.remade(attributes[_BYTES])


def _reference(snapshot: Any) -> Any:
    attributes = vars(snapshot)
    return attributes[_SOURCE].reference(_response(attributes))


def _time(name: str) -> Callable[[Any], Any]:
    def made(snapshot: Any) -> Any:
        attributes = vars(snapshot)
        time = getattr(_response(attributes), name)
        # A copy has no nanoseconds.
        return copy.deepcopy(time) if attributes[_SOURCE].is_copied else time

    return made


def is_lazy(snapshot: Any) -> bool:
    """Whether a snapshot makes its parts on request, whatever was read of it."""
    return _BYTES in vars(snapshot)


def _is_lazily_read(attributes: Any) -> bool:
    # Others may set its attributes, and the client itself looks at _exists first.
    return (
        _BYTES in attributes
        and "_data" not in attributes
        and attributes.get("_exists", False) is True
    )


def lazily_read(snapshot: Any) -> DocumentResponse | None:
    """Return the response of a snapshot whose ``_data`` nobody has read or set."""
    attributes = vars(snapshot)
    return _response(attributes) if _is_lazily_read(attributes) else None


def counts_of(snapshot: Any) -> EntityCounts | None:
    """Return the count of a lazy snapshot, if a profile ran when it was read."""
    source: Source | None = vars(snapshot).get(_SOURCE)
    return None if source is None else source.entity_counts


def _client_of(snapshot: Any) -> Any:
    collection = vars(snapshot)[_SOURCE].collection
    # As the reference has it, which need not be made.
    return snapshot._client if collection is None else collection._client


def replace_to_dict(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace ``DocumentSnapshot.to_dict()``, and give the class its descriptors.

    Raises:
        AttributeError: if this version of the client has an attribute with such a name.
    """
    for name, make in _PARTS.items():
        known = vars(DocumentSnapshot).get(name)
        if known is None:
            setattr(DocumentSnapshot, name, _Part(name, make))
        elif type(known) is not _Part:
            raise AttributeError(f"DocumentSnapshot has an attribute {name} of its own")
    # CPython stores instances with less memory whose attributes the first instances have, too.
    first = _new(DocumentSnapshot)
    for name in (*_PARTS, "_exists", _BYTES, _SOURCE):
        setattr(first, name, None)

    @functools.wraps(original)
    def to_dict(self: Any) -> Any:
        # Decoding anew takes less time than a copy, and the result is the caller's own, too.
        return decoded_fields(self) if _is_lazily_read(vars(self)) else original(self)

    return to_dict


def replace_get(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``DocumentSnapshot.get()``."""

    @functools.wraps(original)
    def get(self: Any, field_path: Any) -> Any:
        if not _is_lazily_read(vars(self)):
            return original(self, field_path)
        value = decoded_value(self, field_path)
        if value is UNDECODED:
            # Raises the client's error if there is no such field.
            value = field_path_module.get_nested_value(field_path, decoded_fields(self))
        elif observer.data is not None:
            count_value(counts_of(self), field_path)
        return value

    return get


def decoded_value(snapshot: Any, field_path: Any) -> Any:
    """Return the value at a field path of a lazy snapshot, a new object.

    Returns:
        UNDECODED, if the client has to find or to convert it.
    """
    if type(field_path) is not str:
        return UNDECODED
    try:
        if field_path.isascii() and field_path.isidentifier():
            names = (field_path,)
        else:
            names = field_path_module.parse_field_path(field_path)
        response = _response(vars(snapshot))
        return response.decoded_value(READER, _client_of(snapshot), names)
    except Exception as error:  # noqa: BLE001  # raised where all is decoded
        raise_if_of_handler(error)
        return UNDECODED


def decoded_fields(snapshot: Any) -> Any:
    """Return the fields of a lazy snapshot, all objects new.

    Raises:
        ValueError: as the client raises it, with a note that names document and field.
        google.protobuf.message.DecodeError: if the document is malformed.
    """
    response, client = _response(vars(snapshot)), _client_of(snapshot)
    try:
        fields = response.decoded_fields(READER, client)
    except Exception as error:  # noqa: BLE001  # the client raises it below
        raise_if_of_handler(error)
        fields = UNDECODED
    if fields is UNDECODED:
        fields = _stock_fields(response, client)
    if observer.data is not None:
        count_fields(counts_of(snapshot), fields)
    return fields


def _stock_fields(response: Any, client: Any) -> Any:
    try:
        document = response.parsed_document()
    except DecodeError as error:
        raise DecodeError(
            f"the document {safe_repr(response.name)} could not be decoded: {safe_str(error)}"
        ) from error
    try:
        return stock_values(document.fields, client)
    except Exception as error:
        add_note(
            error,
            lambda: (
                f"while decoding field {_path_of_error(document.fields, client)} of the document "
                f"{safe_repr(response.name)}"
            ),
        )
        raise


def _path_of_error(fields: Any, client: Any) -> str:
    """Return the path of the first field that the client cannot convert."""
    names: list[str] = []
    while True:
        for name, value in fields.items():
            if _is_convertible({name: value}, client):
                continue
            names.append(name)
            if value.WhichOneof("value_type") == "map_value":
                fields = value.map_value.fields
                break
            return str(field_path_module.render_field_path(names))
        else:
            # The map as a whole.
            return str(field_path_module.render_field_path(names)) if names else "(unknown)"


def _is_convertible(fields: Any, client: Any) -> bool:
    try:
        stock_values(fields, client)
    except Exception:  # noqa: BLE001  # it is being described
        return False
    return True


def snapshot_of(
    response: DocumentResponse, reference: Any, source: Source, is_received: bool = True
) -> Any:
    """Make a snapshot of a response with a document: a stock one in eager mode.

    Args:
        response: as a stub gave it.
        reference: of the document; None, if it is made on request.
        source: of the snapshot; it makes the reference.
        is_received: whether a profile counts the document.

    Raises:
        Exception: in eager mode, as of :func:`decoded_fields`.
    """
    is_eager = response._is_eager
    if is_eager is None:
        is_eager = CLIENT.patch.eager
    if observer.data is not None and is_received:
        entity_counts = count_document(response, is_eager)
        if entity_counts is not None:
            source = source.counted(entity_counts)
    snapshot: Any = _new(DocumentSnapshot)
    snapshot._exists = True
    snapshot._lazyentity_bytes, snapshot._lazyentity_source = response.raw, source
    if reference is not None:
        snapshot._reference = reference
    if is_eager:
        for name in _PARTS:
            getattr(snapshot, name)
        del snapshot._lazyentity_bytes, snapshot._lazyentity_source
    return snapshot


_PARTS: dict[str, Callable[[Any], Any]] = {
    "_reference": _reference,
    "_data": decoded_fields,
    "read_time": _time("read_time"),
    "create_time": _time("create_time"),
    "update_time": _time("update_time"),
}
"""How the attributes of a lazy snapshot are made that have a descriptor."""
