"""Which implementation of :class:`LazyMapping` serves: chosen once, when lazyentity is imported.

An implementation is what :mod:`lazyentity.codec.results` has, ``key_message`` of
:mod:`lazyentity.codec.key`, ``type_version`` of :mod:`lazyentity.codec.types`, ``write_properties``
of :mod:`lazyentity.codec.write`, and a ``dict`` subclass with the constructor ``_from_raw``, the
accessors ``_decode_all``, ``_decoded``, ``_undecoded``, ``_serialised_values`` and ``_wire_*``, and
the dict operations, all as documented in :mod:`lazyentity.codec.pure`. It never touches ``key``,
``exclude_from_indexes`` or ``_meanings``: these are :class:`~lazyentity.entity.LazyEntity`'s.
"""

from __future__ import annotations

import importlib
import os
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

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
    "type_version",
    "write_properties",
]

_RESULTS = (
    "EntityBytes",
    "Conversion",
    "ResultBytes",
    "converter_of_items",
    "split_lookup",
    "split_query",
)

_REQUEST = "LAZYENTITY_BACKEND"
# What a build without a C compiler leaves out.
_NATIVE_MODULES = (
    "lazyentity._native",
    "lazyentity._native_keys",
    "lazyentity._native_results",
    "lazyentity._native_shapes",
    "lazyentity._native_types",
    "lazyentity._native_values",
    "lazyentity._native_write",
)


def _contents(mapping: str, results: str, keys: str, types: str, write: str) -> SimpleNamespace:
    return SimpleNamespace(
        LazyMapping=importlib.import_module(mapping).LazyMapping,
        key_message=importlib.import_module(keys).key_message,
        type_version=importlib.import_module(types).type_version,
        write_properties=importlib.import_module(write).write_properties,
        **{name: getattr(importlib.import_module(results), name) for name in _RESULTS},
    )


def _native() -> SimpleNamespace:
    return _contents(
        "lazyentity._native",
        "lazyentity._native_results",
        "lazyentity._native_keys",
        "lazyentity._native_types",
        "lazyentity._native_write",
    )


def _pure() -> SimpleNamespace:
    return _contents(
        "lazyentity.codec.pure",
        "lazyentity.codec.results",
        "lazyentity.codec.key",
        "lazyentity.codec.types",
        "lazyentity.codec.write",
    )


def _choose(requested: str) -> tuple[str, Any]:
    """Return name and contents of the backend that was asked for; the best there is, if none was.

    Raises:
        ImportError: if what was asked for is not there, or no backend at all.
    """
    if requested not in ("", "native", "pure"):
        raise ImportError(
            f"{_REQUEST}={requested!r} is not a backend; accepted are 'native' and 'pure'"
        )
    if requested == "pure":
        return "pure", _pure()
    try:
        return "native", _native()
    except ImportError as error:
        if requested == "native":
            raise ImportError(
                f"{_REQUEST}=native cannot be met ({error}); a build without a working C compiler "
                "leaves the native backend out: install from source where there is one, or unset "
                "the variable"
            ) from error
        if not (isinstance(error, ModuleNotFoundError) and error.name in _NATIVE_MODULES):
            warnings.warn(
                f"lazyentity: the native backend was built but cannot be loaded ({error}); "
                "the pure one serves",
                RuntimeWarning,
                stacklevel=2,
            )
        return "pure", _pure()


if TYPE_CHECKING:
    from lazyentity.codec.key import key_message
    from lazyentity.codec.pure import LazyMapping
    from lazyentity.codec.results import (
        Conversion,
        EntityBytes,
        ResultBytes,
        converter_of_items,
        split_lookup,
        split_query,
    )
    from lazyentity.codec.types import type_version
    from lazyentity.codec.write import write_properties

    backend: str
else:
    backend, _chosen = _choose(os.environ.get(_REQUEST, ""))
    LazyMapping = _chosen.LazyMapping
    EntityBytes = _chosen.EntityBytes
    Conversion = _chosen.Conversion
    ResultBytes = _chosen.ResultBytes
    converter_of_items = _chosen.converter_of_items
    key_message = _chosen.key_message
    split_lookup = _chosen.split_lookup
    split_query = _chosen.split_query
    type_version = _chosen.type_version
    write_properties = _chosen.write_properties
