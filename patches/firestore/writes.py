"""The replacements of functions of google-cloud-firestore that write.

Documents of plain values are encoded natively. The client's own code encodes the rest: transforms,
field masks of some fields, and documents in containers of somebody's own class. Each
``replace_...`` is the ``replace`` of a :class:`~lazyentity.patches.registry.Seam`.
"""

from __future__ import annotations

import functools
import operator
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator
from types import MemberDescriptorType
from typing import Any, cast

import google.cloud._helpers as cloud_helpers
from google.api_core import datetime_helpers
from google.cloud.firestore_v1 import _helpers, base_document, transforms, vector
from google.cloud.firestore_v1 import field_path as field_path_module
from google.cloud.firestore_v1.async_document import AsyncDocumentReference
from google.cloud.firestore_v1.document import DocumentReference
from google.protobuf.message import EncodeError

from lazyentity.native.backend import DocumentWriter
from lazyentity.patches.firestore.messages import (
    REQUESTS,
    Write,
    lazy_message,
    lazy_request,
    make_lazy,
)
from lazyentity.patches.upstream import is_upstream

Pbs = Callable[..., Any]

_WriteMessage = Write.pb()
_VALUES = (
    transforms.ArrayRemove,
    transforms.ArrayUnion,
    transforms.Increment,
    transforms.Maximum,
    transforms.Minimum,
)
_FOR_CLIENT = (dict, transforms.Sentinel, *_VALUES)


def _other(value: Any) -> bytes:
    raw: bytes = _helpers.encode_value(value)._pb.SerializeToString()
    return raw


def _is_for_client(value: Any) -> bool:
    return isinstance(value, _FOR_CLIENT)


def _is_transform(value: Any) -> bool:
    return value is transforms.SERVER_TIMESTAMP or any(type(value) is each for each in _VALUES)


WRITER = DocumentWriter(
    other=_other,
    is_for_client=_is_for_client,
    geo_point=_helpers.GeoPoint,
    references=(DocumentReference, AsyncDocumentReference),
    timestamp=datetime_helpers.DatetimeWithNanoseconds,
    vector=vector.Vector,
    write=_WriteMessage,
)

make_lazy(Write, *REQUESTS.values())


# Where the client's functions stand whose work is done natively, with their names.
_PLACES: dict[Any, tuple[str, ...]] = {
    _helpers: (
        "DocumentExtractor",
        "DocumentExtractorForMerge",
        "DocumentExtractorForUpdate",
        "ExistsOption",
        "FieldPath",
        "GeoPoint",
        "Vector",
        "_datetime_to_pb_timestamp",
        "encode_dict",
        "encode_value",
        "extract_fields",
        "set_field_value",
    ),
    _helpers.DocumentExtractor: (
        "__init__",
        "_get_document_iterator",
        "_get_update_mask",
        "get_update_pb",
    ),
    _helpers.DocumentExtractorForMerge: (
        "__init__",
        "_apply_merge_all",
        "_get_update_mask",
        "apply_merge",
    ),
    _helpers.DocumentExtractorForUpdate: ("__init__", "_get_document_iterator", "_get_update_mask"),
    field_path_module: ("parse_field_path", "render_field_path"),
    field_path_module.FieldPath: ("__init__", "from_api_repr", "from_string", "to_api_repr"),
    # A getter of a single name would give no tuple.
    _helpers.GeoPoint: ("__init__", "to_protobuf"),
    vector.Vector: ("__init__", "to_map_value"),
    datetime_helpers.DatetimeWithNanoseconds: ("_nanosecond", "timestamp_pb"),
    base_document.BaseDocumentReference: ("_document_path", "_document_path_internal"),
}
_KNOWN = tuple(
    (vars(holder), get, get(vars(holder)))
    for holder, names in _PLACES.items()
    for get in (operator.itemgetter(*names),)
)

_MODULES = _helpers, base_document, cloud_helpers, datetime_helpers, field_path_module, vector


def _is_upstream(value: Any) -> bool:
    """Whether a function, method or class is the client's, and nobody's wrapper of it."""
    if type(value) is type or type(value) is ABCMeta:
        return str(value.__module__).startswith("google.cloud.firestore_v1.")
    is_bare = value is None or type(value) is MemberDescriptorType
    return is_bare or is_upstream(value, *_MODULES)


_WAS_UPSTREAM = all(_is_upstream(value) for _, _, found in _KNOWN for value in found)
"""Whether nobody had replaced a function before the client was patched."""


def _is_plain(name: Any, fields: Any) -> bool:
    """Whether the client's functions are in place, and the arguments are of the usual types."""
    if type(fields) is not dict or type(name) is not str or not _WAS_UPSTREAM:
        return False
    try:
        for holder, get, known in _KNOWN:
            # A wrapper of wrapt equals the wrapped function.
            if not all(map(operator.is_, get(holder), known)):
                return False
    except KeyError:
        return False
    return True


_EXISTS: bytes = _WriteMessage(current_document={"exists": True}).SerializeToString()
_IS_NEW: bytes = _WriteMessage(current_document={"exists": False}).SerializeToString()


def _masked(paths: Iterable[str], rest: bytes = b"") -> bytes:
    message = _WriteMessage.FromString(rest)
    message.update_mask.field_paths.extend(paths)
    message.update_mask.SetInParent()
    raw: bytes = message.SerializeToString()
    return raw


def _encoded(
    stock: Callable[[dict[str, Any]], Any],
    name: str,
    fields: dict[str, Any],
    rest: Callable[[dict[str, Any]], bytes],
) -> Any:
    """Return the writes of a document: a lazy message, or the client's.

    Args:
        stock: makes the client's writes of a document.
        name: of the document.
        fields: of the document.
        rest: serialises the fields of a ``Write`` beside the document.
    """
    try:
        raw = WRITER.update(name, fields)
        if raw is not None:
            return [lazy_message(Write, raw + rest(fields))]
        # The client's code is slow: it gets the transforms alone.
        # Copied: another thread can change it.
        copied = list(fields.items())
        transformed = {key: value for key, value in copied if _is_transform(value)}
        # The client sorts all names, which fails for names of several types.
        names = {type(key) for key in transformed}
        if names == {str} and len(transformed) < len(copied):
            plain = {key: value for key, value in copied if key not in transformed}
            raw = WRITER.update(name, plain)
            if raw is not None:
                raw += rest(plain) + _transforms_of(stock(transformed))
                return [lazy_message(Write, raw)]
    except EncodeError:
        # Too deep: the client finds that out when it sends the document.
        pass
    return stock(fields)


def _transforms_of(writes: Any) -> bytes:
    (write,) = writes
    message = _WriteMessage(update_transforms=write._pb.update_transforms)
    raw: bytes = message.SerializeToString()
    return raw


Replace = Callable[[Pbs, Callable[[], bool]], Pbs]


def _replacing(rest: bytes) -> Replace:
    def replace(original: Pbs, is_active: Callable[[], bool]) -> Pbs:
        @functools.wraps(original)
        def pbs(document_path: Any, document_data: Any) -> Any:
            if not (is_active() and _is_plain(document_path, document_data)):
                return original(document_path, document_data)
            stock = functools.partial(original, document_path)
            return _encoded(stock, document_path, document_data, lambda _: rest)

        return pbs

    return replace


replace_create: Replace = _replacing(_IS_NEW)
"""Replace the function that makes the writes of ``create()``."""

replace_set: Replace = _replacing(b"")
"""Replace the function that makes the writes of ``set()``."""


def replace_merge(original: Pbs, is_active: Callable[[], bool]) -> Pbs:
    """Replace the function that makes the writes of ``set(..., merge=...)``."""

    @functools.wraps(original)
    def pbs_for_set_with_merge(document_path: Any, document_data: Any, merge: Any) -> Any:
        if not (merge is True and is_active() and _is_plain(document_path, document_data)):
            return original(document_path, document_data, merge)
        # The mask and the fields are of the same maps, if another thread changes them.
        copied = _copied(document_data, 0)
        if copied is None:
            return original(document_path, document_data, merge)

        def stock(fields: dict[str, Any]) -> Any:
            return original(document_path, document_data if fields is copied else fields, merge)

        return _encoded(stock, document_path, copied, lambda plain: _masked(_leaves(plain, "")))

    return pbs_for_set_with_merge


_MOST_MAPS = 20
"""Maps in maps: Firestore allows no more."""


def _copied(fields: dict[str, Any], depth: int) -> dict[str, Any] | None:
    """Return copies of the maps of a document; None, if the client has to see the document."""
    if depth > _MOST_MAPS:
        return None
    copied = dict(fields)
    for name, value in copied.items():
        if type(name) is not str:
            return None
        if type(value) is dict:
            held = copied[name] = _copied(value, depth + 1)
            if held is None:
                return None
    return copied


def _leaves(fields: dict[str, Any], prefix: str) -> Iterator[str]:
    """Give the paths of the fields that are no maps, or empty ones, in the client's order."""
    for name, value in sorted(fields.items()):
        is_simple = name.isascii() and name.isidentifier()
        path = prefix + (name if is_simple else field_path_module.render_field_path((name,)))
        if type(value) is dict and value:
            yield from _leaves(value, f"{path}.")
        else:
            yield path


def replace_update(original: Pbs, is_active: Callable[[], bool]) -> Pbs:
    """Replace the function that makes the writes of ``update()``."""

    @functools.wraps(original)
    def pbs_for_update(document_path: Any, field_updates: Any, option: Any) -> Any:
        if not (option is None and is_active() and _is_plain(document_path, field_updates)):
            return original(document_path, field_updates, option)
        # The mask and the fields are of the same map, if another thread changes it.
        updates = dict(field_updates)
        fields = _nested(updates)
        if fields is None:
            return original(document_path, field_updates, option)

        def stock(some: dict[str, Any]) -> Any:
            return original(document_path, field_updates if some is fields else some, option)

        def rest(plain: dict[str, Any]) -> bytes:
            return _masked(sorted(updates if plain is fields else plain), _EXISTS)

        return _encoded(stock, document_path, fields, rest)

    return pbs_for_update


def _nested(updates: dict[str, Any]) -> dict[str, Any] | None:
    """Return the fields that an update sets; None, if the client has to see it.

    The client does if there are none, if a path is quoted, and for a path below another one. Of
    paths with dots, a transform is an update's own.
    """
    if not updates or not all(type(path) is str for path in updates):
        return None
    if all(path.isascii() and path.isidentifier() for path in updates):
        return updates
    fields: dict[str, Any] = {}
    made = [fields]
    for path, value in sorted(updates.items()):
        *parents, name = path.split(".")
        if not path.isascii() or not all(map(str.isidentifier, (*parents, name))):
            return None
        if _is_transform(value):
            return None
        current = fields
        for parent in parents:
            held = current.get(parent)
            if parent not in current:
                held = current[parent] = {}
                made.append(held)
            elif not any(held is each for each in made):
                return None
            current = cast(dict[str, Any], held)
        if name in current:
            return None
        current[name] = value
    return fields


def replace_rpc(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace the method of the API object that sends writes."""
    kind = REQUESTS[original.__name__]

    @functools.wraps(original)
    def send(self: Any, request: Any = None, **options: Any) -> Any:
        if is_active():
            request = lazy_request(kind, request)
        return original(self, request, **options)

    return send


def replace_async_rpc(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the method of an asyncio client's API object that sends writes."""
    kind = REQUESTS[original.__name__]

    @functools.wraps(original)
    async def send(self: Any, request: Any = None, **options: Any) -> Any:
        if is_active():
            request = lazy_request(kind, request)
        return await original(self, request, **options)

    return send
