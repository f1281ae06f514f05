"""Snapshots of documents whose fields are decoded when somebody asks for them.

A lazy snapshot is a plain ``DocumentSnapshot`` without its ``_data``. The class gets a descriptor
of that name, which decodes. It stays there when the client is unpatched, for snapshots that live
on: the client's own methods read ``_data`` then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.firestore_v1 import field_path as field_path_module
from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.protobuf.message import DecodeError

from lazyentity.codec.describing import add_note, safe_repr, safe_str
from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.firestore.documents import READER, stock_values
from lazyentity.patches.firestore.responses import DocumentResponse
from lazyentity.patches.firestore.seams import CLIENT

_new = object.__new__
_BYTES = "_lazyentity_bytes"


class _Bytes:
    """Holds the response of a lazy snapshot, which never changes: copies of a snapshot share it."""

    __slots__ = ("response",)

    def __init__(self, response: DocumentResponse) -> None:
        self.response = response

    def __deepcopy__(self, memo: Any) -> _Bytes:
        return self

    def __reduce__(self) -> Any:
        return _unpickled, (type(self.response), self.response.raw)


def _unpickled(kind: type[DocumentResponse], raw: bytes) -> _Bytes:
    return _Bytes(kind.deserialize(raw))


class _Data:
    """``DocumentSnapshot._data``: decoded once, and then in the instance dictionary."""

    def __get__(self, snapshot: Any, owner: type) -> Any:
        attributes = None if snapshot is None else vars(snapshot)
        if attributes is None or _BYTES not in attributes:
            # As without this descriptor.
            kind = f"type object {safe_repr(owner.__name__)}"
            if snapshot is not None:
                kind = f"{safe_repr(owner.__name__)} object"
            raise AttributeError(f"{kind} has no attribute '_data'")
        # Of two threads both get the dict of the first.
        return attributes.setdefault("_data", decoded_fields(snapshot))


def lazily_read(snapshot: Any) -> DocumentResponse | None:
    """Return the response of a snapshot whose ``_data`` nobody has read or set."""
    attributes = vars(snapshot)
    held = attributes.get(_BYTES)
    return None if held is None or "_data" in attributes else held.response


def replace_to_dict(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace ``DocumentSnapshot.to_dict()``, and give the class its descriptor.

    Raises:
        AttributeError: if this version of the client has an attribute of that name.
    """
    known = vars(DocumentSnapshot).get("_data")
    if known is None:
        DocumentSnapshot._data = _Data()
    elif type(known) is not _Data:
        raise AttributeError("DocumentSnapshot has an attribute _data of its own")

    @functools.wraps(original)
    def to_dict(self: Any) -> Any:
        attributes = self.__dict__
        if _BYTES not in attributes or "_data" in attributes:
            return original(self)
        # Decoding anew takes less time than a copy, and the result is the caller's own, too.
        return decoded_fields(self)

    return to_dict


def replace_get(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``DocumentSnapshot.get()``."""

    @functools.wraps(original)
    def get(self: Any, field_path: Any) -> Any:
        response = lazily_read(self)
        if response is None:
            return original(self, field_path)
        value = decoded_value(response, self._client, field_path)
        if value is UNDECODED:
            # Raises the client's error if there is no such field.
            value = field_path_module.get_nested_value(field_path, decoded_fields(self))
        return value

    return get


def decoded_value(response: DocumentResponse, client: Any, field_path: Any) -> Any:
    """Return the value at a field path; UNDECODED, if the client has to find or to convert it."""
    if type(field_path) is not str:
        return UNDECODED
    try:
        if field_path.isascii() and field_path.isidentifier():
            names = (field_path,)
        else:
            names = field_path_module.parse_field_path(field_path)
        return response.decoded_value(READER, client, names)
    except Exception as error:  # noqa: BLE001  # raised where all is decoded
        raise_if_of_handler(error)
        return UNDECODED


def decoded_fields(snapshot: Any) -> Any:
    """Return the fields of a lazy snapshot, all objects new.

    Raises:
        ValueError: as the client raises it, with a note that names document and field.
        google.protobuf.message.DecodeError: if the document is malformed.
    """
    response, client = vars(snapshot)[_BYTES].response, snapshot._client
    try:
        fields = response.decoded_fields(READER, client)
    except Exception as error:  # noqa: BLE001  # the client raises it below
        raise_if_of_handler(error)
        fields = UNDECODED
    return _stock_fields(response, client) if fields is UNDECODED else fields


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


def is_stock(response: DocumentResponse) -> bool:
    """Whether a stock snapshot is made of a response."""
    return response._is_eager or CLIENT.patch.eager


def snapshot_of(response: DocumentResponse, reference: Any) -> Any:
    """Make a snapshot of a response with a document: a stock one in eager mode.

    Raises:
        Exception: in eager mode, as of :func:`decoded_fields`.
    """
    snapshot = _new(DocumentSnapshot)
    snapshot.__dict__ = {
        "_reference": reference,
        "_exists": True,
        "read_time": response.read_time,
        "create_time": response.create_time,
        "update_time": response.update_time,
        _BYTES: _Bytes(response),
    }
    if is_stock(response):
        snapshot._data = decoded_fields(snapshot)
        del vars(snapshot)[_BYTES]
    return snapshot
