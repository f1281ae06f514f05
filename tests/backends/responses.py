"""Read responses, split by both backends, and the results that must be equal."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.protobuf.message import DecodeError

import lazyentity
from lazyentity import materialize
from lazyentity.codec import shadow
from lazyentity.pure import entities as responses
from tests.backends.backends import NATIVE, PURE
from tests.support.snapshots import Raised, outcome
from tests.support.stock import comparable, content

native_results: Any = importlib.import_module("lazyentity.native.entities")


@dataclass(frozen=True)
class Split:
    """A split response, as messages: the rest of it, and each list of its results."""

    rest: bytes
    results: list[list[tuple[bytes, bytes]]]


@functools.cache
def _result_type(module: Any) -> Any:
    # Subclasses, as in the patch.
    entity_type = type("Entity", (module.EntityBytes,), {"__slots__": ()})
    namespace = {"__slots__": (), "entity_type": entity_type}
    return type("Result", (module.ResultBytes,), namespace)


def _reader(module: Any) -> Any:
    # Each backend makes only its entity class, whichever the default is.
    return module.EntityReader(NATIVE if module is native_results else PURE, materialize)


def _split(module: Any, name: str, message_type: Any, raw: bytes) -> Split:
    rest, *found = getattr(module, name)(raw, module.ReadRpc(), _result_type(module))
    entities = [[bytes(entity.raw) for entity in part] for part in found]
    assert entities == [[bytes(each.entity.raw) for each in part.results()] for part in found]
    return Split(
        _parsed(message_type, rest),
        [[_result(module, result) for result in part.results()] for part in found],
    )


def _result(module: Any, result: Any) -> tuple[bytes, bytes]:
    message = _RESULT.FromString(result.serialised())
    assert result.cursor == message.cursor
    if message.entity:
        # In one piece or several: that is the same entity.
        message.entity[:] = [b"".join(message.entity)]
    entity = result.entity
    assert type(entity) is result.entity_type
    assert entity.rpc is result.rpc
    reader = _reader(module)
    assert outcome(lambda: lazyentity.raw(result.read(reader))) == outcome(
        lambda: lazyentity.raw(entity.read(reader))
    )
    key = outcome(lambda: entity.serialised_key)
    if isinstance(key, bytes):
        assert [key] == list(shadow.EntityKey.FromString(entity.raw).key)
    return _parsed(_RESULT, message.SerializeToString()), bytes(entity.raw)


def _parsed(message_type: Any, raw: bytes) -> bytes:
    message = message_type.FromString(raw)
    # Unknown fields may get lost: no caller can read them from a response.
    message.DiscardUnknownFields()
    return comparable(message)


_RESULT = shadow.LookupResults().found.add().__class__

SPLITTERS: dict[str, Callable[[Any, bytes], Split]] = {
    "lookup": lambda module, raw: _split(module, "split_lookup", shadow.LookupResults, raw),
    "query": lambda module, raw: _split(module, "split_query", shadow.QueryResults, raw),
}


@dataclass(frozen=True)
class Converted:
    """The entities that ``convert_found`` made of a look-up, and the rest.

    Attributes:
        entities: what is in them, by key.
        left: the entities of the results that were left, serialised.
        pending: the keys that were asked for, and not found.
    """

    entities: dict[bytes, Any]
    left: list[bytes]
    pending: list[bytes]


def converted(module: Any, raw: bytes, asked: Iterable[bytes] | None = None) -> Converted:
    """Split a look-up, and convert the results that were found.

    Args:
        module: a backend's.
        raw: the serialised response.
        asked: the keys; all that it has by default.
    """
    _, found, _ = module.split_lookup(raw, module.ReadRpc(), _result_type(module))
    if asked is None:
        asked = [key for entity in found if (key := entity.serialised_key) is not None]
    entities: dict[bytes, Any] = {}
    pending = dict.fromkeys(asked)
    left = module.convert_found(_reader(module), entities, found.results(), pending)
    return Converted(
        {key: outcome(content, lazyentity.raw(entity)) for key, entity in entities.items()},
        [bytes(result.entity.raw) for result in left],
        list(pending),
    )


def assert_same_split(raw: bytes) -> None:
    """Check that both backends split ``raw`` alike, or both refuse it.

    The native backend may find a malformed part only when it parses that part.
    """
    for split in SPLITTERS.values():
        native = outcome(partial(split, native_results, raw))
        pure = outcome(partial(split, responses, raw))
        if isinstance(native, Raised):
            assert native.kind is DecodeError, native
            assert isinstance(pure, Raised), (native, pure)
        else:
            assert native == pure, (native, pure)
