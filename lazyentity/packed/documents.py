"""The JSON of a document, and tags for values that JSON lacks.

A tag is an object with the one key ``$``: a list of the kind of the value and its contents.

=============  ========================================================================
kind           contents
=============  ========================================================================
``datetime``   as of ``datetime.isoformat()``, with the offset from UTC
``bytes``      base64 (RFC 4648, with padding)
``set``        a list
``frozenset``  a list
``dict``       an object: a dict of the document that has the key ``$`` itself
=============  ========================================================================
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable
from typing import Any, NoReturn

import orjson
from google.cloud.datastore.entity import Entity

from lazyentity._backend import is_json
from lazyentity._jsontypes import MAX_CONTAINERS, RESERVED
from lazyentity._types import describe_type
from lazyentity.codec.describing import safe_repr, safe_str

_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1
# orjson writes 254 levels at most, and the object and the list of a tag are two of them.
_TAG_DEPTH = 2
# orjson by itself writes these as JSON, without a tag.
_REFUSED = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

Path = tuple[Any, ...]
"""The path of a value: its container's path, and its key or index there. Empty at the top."""


class BadTag(ValueError):
    """A tag is of an unknown kind, or its contents are malformed."""


def serialised(value: Any) -> tuple[bytes, bool]:
    """Return the JSON of a document, and whether there are tags in it.

    Raises:
        TypeError: as :func:`lazyentity.packed.pack`.
    """
    if is_json(value):
        try:
            return orjson.dumps(value, option=_REFUSED), False
        except orjson.JSONEncodeError:
            # An integer of more than 64 bits or a lone surrogate, refused below; or a value that
            # another thread has put there since is_json() looked.
            return _with_tags(value), True
    return _with_tags(value), True


def _with_tags(value: Any) -> bytes:
    return orjson.dumps(tagged(value, (), 0))


def tagged(value: Any, path: Path, depth: int) -> Any:
    """Return a copy of a value in which every value that JSON lacks is tagged.

    Args:
        value: any value.
        path: of the value.
        depth: of the containers around it in JSON, where a tag is two.

    Raises:
        TypeError: as :func:`lazyentity.packed.pack`.
    """
    kind = type(value)
    if kind is str:
        return _text(value, path)
    if value is None or kind is bool:
        return value
    if kind is int:
        if not _MIN_INT <= value <= _MAX_INT:
            _refuse(path, "an int of more than 64 bits")
        return value
    if kind is float:
        if not math.isfinite(value):
            _refuse(path, f"the float {value}")
        return value
    if depth >= MAX_CONTAINERS:
        _refuse(path, f"a value more than {MAX_CONTAINERS} containers deep")
    if kind is list:
        return _items(value, path, depth)
    if kind is dict:
        return _dict(value, path, depth)
    if isinstance(value, Entity):
        if value.key is not None:
            _refuse(path, "an entity with a key, which would be lost")
        return _dict(dict(value.items()), path, depth)
    return {RESERVED: list(_tag(value, path, depth))}


# Each container is copied first: time zones and other threads can change it while its values are
# tagged, and going on in a changed one can skip values without an error.


def _items(items: Any, path: Path, depth: int) -> list[Any]:
    return [tagged(item, (path, index), depth + 1) for index, item in enumerate(list(items))]


def _dict(value: dict[Any, Any], path: Path, depth: int) -> dict[str, Any]:
    made = {}
    taken = value.copy()
    is_tag = RESERVED in taken
    inside = depth + 1 + (_TAG_DEPTH if is_tag else 0)
    for key, item in taken.items():
        where = path, key
        if type(key) is not str:
            _refuse(where, f"under a key of type {describe_type(key)}")
        made[_text(key, where)] = tagged(item, where, inside)
    return {RESERVED: ["dict", made]} if is_tag else made


def _text(value: str, path: Path) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            _refuse(path, "a string with a lone surrogate")
    return value


def _tag(value: Any, path: Path, depth: int) -> tuple[str, Any]:
    # The missing timestamp of pandas, which is equal to nothing, is a datetime by its class alone.
    if isinstance(value, datetime.datetime) and value == value:
        offset = value.utcoffset()
        if offset is None:
            _refuse(path, "a datetime without a time zone")
        # fromisoformat() of CPython 3.11 loses an offset below a second.
        if offset % datetime.timedelta(seconds=1):
            _refuse(path, "a datetime whose offset from UTC is not of whole seconds")
        # The client's own class of timestamps counts nanoseconds.
        if getattr(value, "nanosecond", 0) % 1000:
            _refuse(path, "a timestamp with digits beyond microseconds")
        return "datetime", datetime.datetime.isoformat(value)
    kind = type(value)
    if kind is bytes:
        return "bytes", base64.b64encode(value).decode()
    if kind is not set and kind is not frozenset:
        _refuse(path, f"a value of type {describe_type(value)}")
    return kind.__name__, _items(value, path, depth + _TAG_DEPTH)


def _refuse(path: Path, described: str) -> NoReturn:
    keys: list[Any] = []
    while path:
        path, key = path
        keys.append(key)
    where = "".join(f"[{safe_repr(key)}]" for key in reversed(keys))
    raise TypeError(
        f"value{where} cannot be packed: it is {described}; pack() takes JSON types, datetimes "
        "with a time zone, bytes and sets"
    )


def restored(value: Any) -> Any:
    """Return a parsed document with its tags replaced by the values that they stand for.

    Args:
        value: as JSON gave it. Its dicts and lists are changed.

    Raises:
        BadTag: if a tag is malformed.
    """
    if type(value) is dict:
        if len(value) == 1 and RESERVED in value:
            return _untagged(value[RESERVED])
        return _restored_items(value)
    if type(value) is list:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                value[index] = restored(item)
    return value


def _restored_items(value: dict[str, Any]) -> dict[str, Any]:
    for key, item in value.items():
        if type(item) is dict or type(item) is list:
            value[key] = restored(item)
    return value


def _datetime(text: str) -> datetime.datetime:
    made = datetime.datetime.fromisoformat(text)
    if made.utcoffset() is None:
        raise ValueError("a datetime without an offset from UTC")
    return made


def _restored_list(items: Any) -> Any:
    # A string is iterable, too.
    if type(items) is not list:
        raise TypeError("the items are no list")
    return restored(items)


_RESTORERS: dict[str, Callable[[Any], Any]] = {
    "datetime": _datetime,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "set": lambda items: set(_restored_list(items)),
    "frozenset": lambda items: frozenset(_restored_list(items)),
    "dict": _restored_items,
}


def _untagged(tag: Any) -> Any:
    try:
        kind, contents = tag
        return _RESTORERS[kind](contents)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, BadTag):
            raise
        raise BadTag(f"the tag {safe_str(tag)[:80]} is unknown or malformed") from error
