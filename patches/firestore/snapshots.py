"""Snapshots of documents whose fields are decoded when somebody asks for them.

A lazy snapshot is a plain ``DocumentSnapshot`` with a
:class:`~lazyentity.native.documents.DocumentFields` in place of its ``_data``. The class gets a
descriptor of that name, which decodes all fields. It stays there when the client is unpatched, for
snapshots that live on: the client's own methods read ``_data`` then.

Each ``replace_...`` is the ``replace`` of a :class:`~lazyentity.patches.registry.Seam`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud.firestore_v1 import _helpers, field_path as field_path_module, transforms, vector
from google.cloud.firestore_v1.async_client import AsyncClient
from google.cloud.firestore_v1.async_collection import AsyncCollectionReference
from google.cloud.firestore_v1.async_document import AsyncDocumentReference
from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.cloud.firestore_v1.client import Client
from google.cloud.firestore_v1.collection import CollectionReference
from google.cloud.firestore_v1.document import DocumentReference
from google.cloud.firestore_v1.types import document as document_pb2
from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp

from lazyentity._mode import is_eager
from lazyentity.codec.describing import add_note, safe_repr
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.native.documents import DocumentCodec, DocumentFields
from lazyentity.patches.firestore.messages import delimited
from lazyentity.patches.firestore.responses import RESPONSES, DocumentResponse, QueryResponse
from lazyentity.patches.firestore.seams import GUARD
from lazyentity.profiling import observer

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts

_Document = document_pb2.Document.pb()

_new = object.__new__
_COLLECTIONS = CollectionReference, AsyncCollectionReference
_FIELDS = "_lazyentity_fields"
_DOCUMENT = b"\x0a"
_ENTRY = _ENTRY_VALUE = b"\x12"

CONVERSION_ERRORS = ArithmeticError, AttributeError, DecodeError, LookupError, TypeError, ValueError
"""The errors that the client's conversions of a value raise."""


# References.


@functools.cache
def _references_of(client_type: Any) -> Any:
    """Return the class of a client's references; None, if an application's client makes them."""
    for stock, references in (
        (Client, DocumentReference),
        (AsyncClient, AsyncDocumentReference),
    ):
        if issubclass(client_type, stock) and all(
            getattr(client_type, name) is getattr(stock, name)
            for name in ("document", "_document_path_helper", "_database_string")
        ):
            return references
    return None


def reference_to(client: Any, name: str) -> Any:
    """Return ``client.document(name)``.

    Args:
        client: of either kind.
        name: of a document, with or without its database.
    """
    client_type: Any = type(client)
    kind = _references_of(client_type)
    if kind is not None:
        path = tuple(name.removeprefix(f"{client._database_string}/documents/").split("/"))
        if len(path) % 2 == 0:
            reference = _new(kind)
            reference._path, reference._client = path, client
            return reference
    return client.document(name)


def _decoded_reference(name: str, client: Any) -> Any:
    """Make a reference that a document holds; UNDECODED, if the client has to."""
    client_type: Any = type(client)
    if _references_of(client_type) is None:
        return UNDECODED
    prefix = f"{client._database_string}/documents/"
    reference = reference_to(client, name) if name.startswith(prefix) else None
    if reference is None or reference._path[0] == "projects":
        return UNDECODED
    reference._document_path_internal = name
    return reference


# The client's own conversions.


def _document_in_response(raw: bytes) -> Any:
    # Within a response: protobuf's parser counts messages in messages, and refuses too many.
    return QueryResponse._bare_type.FromString(delimited(_DOCUMENT, raw)).document


def _stock_field(raw: bytes, client: Any) -> Any:
    fields = _document_in_response(delimited(_ENTRY, delimited(_ENTRY_VALUE, raw))).fields
    return copy.deepcopy(_helpers.decode_value(fields[""], client))


def _stock_document(raw: bytes, client: Any) -> Any:
    """Convert the fields of a document as the client does; the result is the caller's own.

    A snapshot copies what was converted. (A copy of a timestamp has no nanoseconds.)
    """
    return copy.deepcopy(_helpers.decode_dict(_document_in_response(raw).fields, client))


def _timestamp_type() -> type[DatetimeWithNanoseconds] | None:
    """Return the class of timestamps, if the backend makes of it what copies are."""
    stock = copy.deepcopy(
        DatetimeWithNanoseconds.from_timestamp_pb(
            Timestamp(seconds=1_234_567_890, nanos=123_456_789)
        )
    )
    is_known = (
        getattr(stock, "_nanosecond", None) == 0
        and stock.microsecond == 123_456
        and not hasattr(stock, "__dict__")
    )
    return DatetimeWithNanoseconds if is_known else None


def _serialised(value: Any) -> bytes:
    raw: bytes = _helpers.encode_value(value)._pb.SerializeToString()
    return raw


_TRANSFORMS = (
    transforms.ArrayRemove,
    transforms.ArrayUnion,
    transforms.Increment,
    transforms.Maximum,
    transforms.Minimum,
)
CODEC = DocumentCodec(
    geo_point=_helpers.GeoPoint,
    references=(DocumentReference, AsyncDocumentReference),
    vector=vector.Vector,
    timestamp=_timestamp_type(),
    reference=_decoded_reference,
    field=_stock_field,
    document=_stock_document,
    errors=CONVERSION_ERRORS,
    other=_serialised,
    server_timestamp=transforms.SERVER_TIMESTAMP,
    transforms=_TRANSFORMS,
    for_client=(dict, transforms.Sentinel, *_TRANSFORMS),
)
"""Decodes and encodes documents; these functions convert the rest."""


# Errors.


def _explain(error: Exception, snapshot: Any, fields: DocumentFields) -> None:
    """Add a note to the client's error that names the field, if there is one, and the document."""

    def note() -> str:
        try:
            document: Any = _Document.FromString(fields.document or b"")
        except DecodeError:
            document = _Document()
        names = _path_of_error(document.fields, snapshot._client)
        where = f"field {field_path_module.render_field_path(names)} of " if names else ""
        return f"while decoding {where}the document {safe_repr(snapshot._reference._document_path)}"

    add_note(error, note)


def _path_of_error(fields: Any, client: Any) -> list[str]:
    """Return the names of the first field in fields that the client cannot convert."""
    for name, value in fields.items():
        if not _is_convertible(value, client):
            return [name, *_path_of_error(value.map_value.fields, client)]
    return []


def _is_convertible(value: Any, client: Any) -> bool:
    try:
        _helpers.decode_value(value, client)
    except CONVERSION_ERRORS:
        return False
    return True


# Reading a snapshot.


def fields_of(snapshot: Any) -> DocumentFields | None:
    """Return the fields of a lazy snapshot, unless somebody has read or set its ``_data``.

    Others may set the attributes of a snapshot, and the client itself looks at ``_exists`` first.
    """
    attributes = vars(snapshot)
    if "_data" in attributes or attributes.get("_exists") is not True:
        return None
    fields: DocumentFields | None = attributes.get(_FIELDS)
    return fields


def is_lazy(snapshot: Any) -> bool:
    """Whether a snapshot was received as bytes, whatever was read of it."""
    return _FIELDS in vars(snapshot)


def field_names(field_path: str) -> list[str]:
    """Return the names of a field path.

    Raises:
        ValueError: as the client raises it, if it is no field path.
    """
    names = field_path.split(".")
    if not (field_path.isascii() and all(map(str.isidentifier, names))):
        names = field_path_module.parse_field_path(field_path)
    return names


def field(snapshot: Any, fields: DocumentFields, names: list[str]) -> Any:
    """Return a copy of the value of a field in fields; UNDECODED, if there is none.

    Raises:
        ValueError: for one, as the client raises it for a field.
        google.protobuf.message.DecodeError: if the field is malformed.
    """
    try:
        return fields.get(names)
    except CONVERSION_ERRORS as error:
        _explain(error, snapshot, fields)
        raise


def _decoded(snapshot: Any, fields: DocumentFields, decode: Callable[[], Any]) -> Any:
    """Return all fields: the result of ``decode``, a method of ``fields``.

    Raises:
        ValueError: for one, as the client raises it for a field; the client's order of fields
            decides which one comes.
        google.protobuf.message.DecodeError: if the document is malformed.
    """
    try:
        return decode()
    except CONVERSION_ERRORS as error:
        _explain(error, snapshot, fields)
        raise


class _Data:
    """``_data`` of a lazy snapshot: decoded once, and then in the instance dictionary."""

    def __get__(self, snapshot: Any, owner: type) -> Any:
        fields = None if snapshot is None else vars(snapshot).get(_FIELDS)
        if fields is None:
            # As without this descriptor.
            raise AttributeError(f"{safe_repr(owner.__name__)} object has no attribute '_data'")
        # Of two threads both get the object of the first.
        return vars(snapshot).setdefault("_data", _decoded(snapshot, fields, fields.data))


def replace_to_dict(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace ``DocumentSnapshot.to_dict()``, and give the class its descriptor.

    Raises:
        AttributeError: if this version of the client has an attribute with its name.
    """
    known = vars(DocumentSnapshot).get("_data")
    if known is None:
        DocumentSnapshot._data = _Data()
    elif type(known) is not _Data:
        raise AttributeError("DocumentSnapshot has an attribute _data of its own")

    @functools.wraps(original)
    def to_dict(self: Any) -> Any:
        fields = fields_of(self)
        return original(self) if fields is None else _decoded(self, fields, fields.to_dict)

    return to_dict


def replace_get(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``DocumentSnapshot.get()``."""

    @functools.wraps(original)
    def get(self: Any, field_path: Any) -> Any:
        fields = fields_of(self)
        if fields is None or type(field_path) is not str:
            return original(self, field_path)
        names = field_names(field_path)
        value = field(self, fields, names)
        if value is UNDECODED:
            _raise_missing(fields, field_path, names[0])
        return value

    return get


def _raise_missing(fields: DocumentFields, field_path: str, first: str) -> NoReturn:
    """Raise the client's error for a field path without a value.

    Raises:
        KeyError: always.
    """
    data = fields.complete
    if data is UNDECODED:
        held = fields.field(first)
        data = {} if held is UNDECODED else {first: held}
    # The client may make another type than a dict of a document.
    if type(data) is dict and first not in data:
        raise KeyError(field_path_module._FIELD_PATH_MISSING_TOP.format(first))
    field_path_module.get_nested_value(field_path, data)
    raise AssertionError(f"there is a value at {field_path}")


# Making a snapshot.


def _snapshot(response: DocumentResponse, reference: Any, client: Any, is_received: bool) -> Any:
    """Make a snapshot of a response with a document: a stock one in eager mode.

    Args:
        response: as a stub gave it.
        reference: to the document.
        client: of the references in the document.
        is_received: whether a profile counts the document.

    Raises:
        Exception: in eager mode, as the client raises it for a value.
    """
    snapshot: Any = _new(DocumentSnapshot)
    fields = response.fields(CODEC, client)
    snapshot._reference = reference
    snapshot._exists = True
    snapshot.read_time, snapshot.create_time, snapshot.update_time = response.times()
    if observer.data is not None and is_received:
        _count(response, fields)
    if response._is_eager:
        snapshot._data = _decoded(snapshot, fields, fields.data)
    else:
        snapshot._lazyentity_fields = fields
    return snapshot


def _count(response: DocumentResponse, fields: DocumentFields) -> None:
    """Count a document for the profile that runs; its kind is the name of its collection."""
    data: Any = observer.data
    counts = data.counts(response.name.split("/")[-2])
    if response._is_eager:
        counts.receive_eager(len(response.raw))
        return
    try:
        names = sorted(fields.names())
    except CONVERSION_ERRORS:
        # The client raises it where somebody reads the document.
        names = []
    fields.count = functools.partial(_count_decoded, counts.receive(names, len(response.raw)))


def _count_decoded(entity_counts: EntityCounts, names: list[str], is_whole: bool) -> None:
    if observer.data is not None and names:
        entity_counts.decode(names, "to_dict()" if is_whole else "")


def _is_lazy_response(response: Any) -> bool:
    return type(response) in RESPONSES and not response._is_whole


def replace_lookup_conversion(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the function that makes a snapshot of a response to a look-up."""

    @functools.wraps(original)
    def _parse_batch_get(get_doc_response: Any, reference_map: Any, client: Any) -> Any:
        if _is_lazy_response(get_doc_response):
            reference = reference_map.get(get_doc_response.name)
            if reference is not None:
                return _snapshot(get_doc_response, reference, client, True)
        return original(get_doc_response, reference_map, client)

    return _parse_batch_get


def replace_query_conversion(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the function that makes a snapshot of a response to a query."""

    @functools.wraps(original)
    def _query_response_to_snapshot(response_pb: Any, collection: Any, expected_prefix: Any) -> Any:
        if _is_lazy_response(response_pb) and type(collection) in _COLLECTIONS:
            name, client = response_pb.name, collection._client
            if name.rpartition("/")[0] == expected_prefix:
                return _snapshot(response_pb, reference_to(client, name), client, True)
        return original(response_pb, collection, expected_prefix)

    return _query_response_to_snapshot


def replace_group_conversion(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the function that makes a snapshot of a response to a collection group's query."""

    @functools.wraps(original)
    def _collection_group_query_response_to_snapshot(response_pb: Any, collection: Any) -> Any:
        if not _is_lazy_response(response_pb):
            return original(response_pb, collection)
        client = collection._client
        snapshot = _snapshot(response_pb, reference_to(client, response_pb.name), client, True)
        # The client leaves these times as messages.
        times = response_pb.time_messages()
        snapshot.read_time, snapshot.create_time, snapshot.update_time = times
        return snapshot

    return _collection_group_query_response_to_snapshot


def from_bytes(raw: bytes, client: Any) -> Any:
    """As :func:`lazyentity.firestore.from_bytes`; the client's methods are replaced already."""
    document = _Document.FromString(raw)
    prefix = f"{client._database_string}/documents/"
    if not document.name.startswith(prefix):
        raise ValueError(
            f"{safe_repr(document.name)} is no document in {safe_repr(client._database_string)}; "
            "pass a client of its database"
        )
    response = QueryResponse.deserialize(delimited(_DOCUMENT, raw))
    if type(response) in RESPONSES and GUARD.is_intact():
        response._is_eager = is_eager()
        return _snapshot(response, reference_to(client, document.name), client, False)
    # Some of its times are no timestamps, its name is none that servers send, or a name of the
    # client was replaced.
    found, reference = response.document, client.document(document.name)
    fields = _helpers.decode_dict(found.fields, client)
    return DocumentSnapshot(reference, fields, True, None, found.create_time, found.update_time)
