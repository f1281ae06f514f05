"""The replacements of functions of google-cloud-firestore that write.

Documents of plain values are encoded natively. The client's own code encodes the rest: transforms,
field masks of some fields, and documents in containers of somebody's own class. One look at the
fields tells, before anything is encoded. Each ``replace_...`` is the ``replace`` of a
:class:`~lazyentity.patches.registry.Seam`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from google.cloud.firestore_v1 import field_path as field_path_module
from google.protobuf.message import EncodeError

from lazyentity.native.documents import encode_update, find_transforms
from lazyentity.patches.firestore.messages import (
    REQUESTS,
    Write,
    lazy_message,
    lazy_request,
    make_lazy,
)
from lazyentity.patches.firestore.seams import GUARD
from lazyentity.patches.firestore.snapshots import CODEC, CONVERSION_ERRORS

Pbs = Callable[..., Any]

_WriteMessage = Write.pb()
make_lazy(Write, *REQUESTS.values())

_EXISTS: bytes = _WriteMessage(current_document={"exists": True}).SerializeToString()
_IS_NEW: bytes = _WriteMessage(current_document={"exists": False}).SerializeToString()


def _masked(paths: Iterable[str], rest: bytes = b"") -> bytes:
    message = _WriteMessage.FromString(rest)
    message.update_mask.field_paths.extend(paths)
    message.update_mask.SetInParent()
    raw: bytes = message.SerializeToString()
    return raw


def _encoded(
    original: Pbs,
    name: Any,
    fields: dict[str, Any],
    found: dict[str, Any] | None,
    rest: Callable[[dict[str, Any]], bytes],
    *last: Any,
) -> Any:
    """Return the writes of a document, a lazy message; None, if the client has to make them.

    Args:
        original: the client's function. It is slow: it gets transforms alone.
        name: of the document.
        fields: of the document, which no other thread changes.
        found: the transforms among them; None, if the client has to see the document.
        rest: serialises the parts of a ``Write`` beside the document, given its plain fields.
        last: the arguments of the client's function after the name and the fields.
    """
    if found is None or type(name) is not str or not GUARD.is_intact():
        return None
    plain = fields
    if found:
        plain = {key: value for key, value in fields.items() if key not in found}
    try:
        raw = encode_update(CODEC, name, plain)
    except (*CONVERSION_ERRORS, EncodeError):
        # The client raises the error of the first field in its order.
        return None
    if raw is None:
        return None
    raw += rest(plain)
    if found:
        (write,) = original(name, found, *last)
        message = _WriteMessage(update_transforms=write._pb.update_transforms)
        raw += message.SerializeToString()
    return [lazy_message(Write, raw)]


Replace = Callable[[Pbs, Callable[[], bool]], Pbs]


def _replacing(rest: bytes) -> Replace:
    def replace(original: Pbs, is_active: Callable[[], bool]) -> Pbs:
        @functools.wraps(original)
        def pbs(document_path: Any, document_data: Any) -> Any:
            made = None
            if is_active() and type(document_data) is dict:
                # Copied: another thread can change it.
                fields = dict(document_data)
                found = find_transforms(CODEC, fields)
                made = _encoded(original, document_path, fields, found, lambda _: rest)
            return original(document_path, document_data) if made is None else made

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
        made = None
        if merge is True and is_active() and type(document_data) is dict:
            # The mask and the fields are of the same maps, if another thread changes them.
            fields = _copied(document_data, 0)
            if fields is not None:
                found = find_transforms(CODEC, fields)
                made = _encoded(original, document_path, fields, found, _masked_leaves, merge)
        return original(document_path, document_data, merge) if made is None else made

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


def _masked_leaves(fields: dict[str, Any]) -> bytes:
    return _masked(_leaves(fields, ""))


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
        made = None
        if option is None and is_active() and type(field_updates) is dict:
            # The mask and the fields are of the same map, if another thread changes it.
            updates = dict(field_updates)
            found = find_transforms(CODEC, updates)
            fields = None if found is None else _nested(updates, has_transforms=bool(found))
            if fields is not None:

                def mask(plain: dict[str, Any]) -> bytes:
                    return _masked(sorted(plain if found else updates), _EXISTS)

                made = _encoded(original, document_path, fields, found, mask, option)
        return original(document_path, field_updates, option) if made is None else made

    return pbs_for_update


def _nested(updates: dict[str, Any], *, has_transforms: bool) -> dict[str, Any] | None:
    """Return the fields that an update sets; None, if the client has to see it.

    The client does if there are none, if a path is quoted, for a path below another one, and for
    transforms beside paths with dots.
    """
    if not updates:
        return None
    has_dots = False
    # Checked first: an update that the client encodes must cost no more than in stock.
    for path in updates:
        if path.isidentifier() and path.isascii():
            continue
        has_dots = True
        if not path.isascii() or not all(map(str.isidentifier, path.split("."))):
            return None
    if not has_dots:
        return updates
    if has_transforms:
        return None
    fields: dict[str, Any] = {}
    made = [fields]
    for path, value in sorted(updates.items()):
        *parents, name = path.split(".")
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
