"""Which implementation of :class:`LazyMapping` serves: chosen once, when this module is imported.

An implementation is what :mod:`lazyentity.pure.responses` has, ``key_message`` of
:mod:`lazyentity.codec.keys`, ``stock_from_raw`` of :mod:`lazyentity.codec.eager`, ``type_version``
of :mod:`lazyentity.pure.types`, ``write_entity`` of :mod:`lazyentity.pure.encoder`, and a ``dict``
subclass with the constructor ``_from_raw``, the accessors ``_decode_all``, ``_decoded``,
``_undecoded``, ``_untouched``, ``_merge_untouched``, ``_plain_values``, ``_serialised_values``,
``_policy``, ``_read_on_request``, ``_deleted_attributes`` and ``_wire_*``, and the dict operations,
all as documented in :mod:`lazyentity.pure.mapping`. It never touches ``key``,
``exclude_from_indexes`` or ``_meanings``: these are
:class:`~lazyentity.entity.LazyEntity`'s.
"""

from __future__ import annotations

import importlib
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lazyentity._choice import NATIVE_MODULES, requested_backend, unmet_request

__all__ = [
    "Conversion",
    "EntityBytes",
    "LazyMapping",
    "ResultBytes",
    "backend",
    "converter_of_items",
    "key_message",
    "split_lookup",
    "split_query",
    "stock_from_raw",
    "type_version",
    "write_entity",
]

_RESULTS = (
    "EntityBytes",
    "Conversion",
    "ResultBytes",
    "converter_of_items",
    "split_lookup",
    "split_query",
)


def _contents(
    mapping: str, results: str, keys: str, eager: str, types: str, write: str
) -> SimpleNamespace:
    return SimpleNamespace(
        LazyMapping=importlib.import_module(mapping).LazyMapping,
        key_message=importlib.import_module(keys).key_message,
        stock_from_raw=importlib.import_module(eager).stock_from_raw,
        type_version=importlib.import_module(types).type_version,
        write_entity=importlib.import_module(write).write_entity,
        **{name: getattr(importlib.import_module(results), name) for name in _RESULTS},
    )


def _native() -> SimpleNamespace:
    contents = _contents(
        "lazyentity.native.mapping",
        "lazyentity.native.responses",
        "lazyentity.native.keys",
        "lazyentity.native.eager",
        "lazyentity.native.types",
        "lazyentity.native.encoder",
    )
    # Is used by lazyentity.decoding alone, but a part of what has to be there.
    importlib.import_module("lazyentity.native.decoding")
    return contents


def _pure() -> SimpleNamespace:
    return _contents(
        "lazyentity.pure.mapping",
        "lazyentity.pure.responses",
        "lazyentity.codec.keys",
        "lazyentity.codec.eager",
        "lazyentity.pure.types",
        "lazyentity.pure.encoder",
    )


def _choose(requested: str) -> tuple[str, Any]:
    """Return name and contents of the backend that was asked for; the best there is, if none was.

    Raises:
        ImportError: if what was asked for is not there, or no backend at all.
    """
    if requested == "pure":
        return "pure", _pure()
    try:
        return "native", _native()
    except ImportError as error:
        if requested == "native":
            raise unmet_request(error) from error
        # First: if this one fails as well, nothing serves.
        pure = _pure()
        if not (isinstance(error, ModuleNotFoundError) and error.name in NATIVE_MODULES):
            warnings.warn(
                f"lazyentity: the native backend was built but cannot be loaded ({error}); "
                "the pure one serves",
                RuntimeWarning,
                stacklevel=2,
            )
        return "pure", pure


if TYPE_CHECKING:
    from lazyentity.codec.eager import stock_from_raw
    from lazyentity.codec.keys import key_message
    from lazyentity.pure.encoder import write_entity
    from lazyentity.pure.mapping import LazyMapping
    from lazyentity.pure.responses import (
        Conversion,
        EntityBytes,
        ResultBytes,
        converter_of_items,
        split_lookup,
        split_query,
    )
    from lazyentity.pure.types import type_version

    backend: str
else:
    backend, _chosen = _choose(requested_backend())
    LazyMapping = _chosen.LazyMapping
    EntityBytes = _chosen.EntityBytes
    Conversion = _chosen.Conversion
    ResultBytes = _chosen.ResultBytes
    converter_of_items = _chosen.converter_of_items
    key_message = _chosen.key_message
    split_lookup = _chosen.split_lookup
    split_query = _chosen.split_query
    stock_from_raw = _chosen.stock_from_raw
    type_version = _chosen.type_version
    write_entity = _chosen.write_entity
