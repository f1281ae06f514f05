"""Calls of adapted libraries that take any object, and return builtins, bytes or text."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, TypeAdapter, computed_field

_ANY = TypeAdapter(Any)


class Unknown:
    """An object that no library knows: its hook is asked for a value."""

    __slots__ = ()


UNKNOWN = Unknown()


class Holder(BaseModel):
    """A model with one field."""

    held: Any


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _instead(graph: Any) -> Callable[[Any], Any]:
    """Return a hook that shows a graph, and the attributes of other objects."""

    def hook(value: Any) -> Any:
        return graph if type(value) is Unknown else vars(value)

    return hook


def _cbor(graph: Any, value: Any) -> Any:
    hook = _instead(graph)
    return _module("cbor2").dumps(
        value, default=lambda encoder, unknown: encoder.encode(hook(unknown))
    )


def _bson(value: Any, hook: Any = None) -> bytes:
    codec = _module("bson.codec_options")
    options = codec.CodecOptions(type_registry=codec.TypeRegistry(fallback_encoder=hook))
    encoded: bytes = _module("bson").encode({"value": value}, codec_options=options)
    return encoded


def _json_encoder(value: Any, hook: Any = None) -> bytes:
    encoded: bytes = _module("msgspec.json").Encoder(enc_hook=hook).encode(value)
    return encoded


def _computed(graph: Any) -> Any:
    # Made while the library is adapted, as applications are.
    class Computing(BaseModel):
        @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
        @property
        def held(self) -> Any:
            return graph

    return Computing()


def _shared(value: Any) -> Any:
    document = _module("pycrdt").Doc()
    document["shared"] = shared = _module("pycrdt").Map({"value": value})
    return shared.to_py()


def _validated(value: Any) -> Any:
    # pydantic may take it for something else; its dump has to be stock's.
    made = TypeAdapter(dict[str, int] | list[Any] | Any).validate_python(value)
    return _ANY.dump_python(made, mode="json", fallback=vars)


_USES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "orjson": ("orjson", lambda g: _module("orjson").dumps(g)),
    "orjson, default": ("orjson", lambda g: _module("orjson").dumps(g, default=vars)),
    "orjson, hook": ("orjson", lambda g: _module("orjson").dumps(UNKNOWN, default=_instead(g))),
    "ujson": ("ujson", lambda g: _module("ujson").dumps(g)),
    "ujson, hook": ("ujson", lambda g: _module("ujson").dumps([UNKNOWN], default=_instead(g))),
    "rapidjson": ("rapidjson", lambda g: _module("rapidjson").dumps(g)),
    "rapidjson, hook": (
        "rapidjson",
        lambda g: _module("rapidjson").dumps([UNKNOWN], default=_instead(g)),
    ),
    "ormsgpack": ("ormsgpack", lambda g: _module("ormsgpack").packb(g)),
    "ormsgpack, hook": (
        "ormsgpack",
        lambda g: _module("ormsgpack").packb([UNKNOWN], default=_instead(g)),
    ),
    "cbor2": ("cbor2", lambda g: _module("cbor2").dumps(g)),
    "cbor2, hook": ("cbor2", lambda g: _cbor(g, [UNKNOWN])),
    "bson": ("bson", _bson),
    "bson, hook": ("bson", lambda g: _bson(UNKNOWN, _instead(g))),
    "msgspec.json": ("msgspec", lambda g: _module("msgspec.json").encode(g)),
    "msgspec.json, hook": (
        "msgspec",
        lambda g: _module("msgspec.json").encode(UNKNOWN, enc_hook=_instead(g)),
    ),
    "msgspec.json.Encoder": ("msgspec", _json_encoder),
    "msgspec.json.Encoder, hook": ("msgspec", lambda g: _json_encoder(UNKNOWN, _instead(g))),
    "msgspec.msgpack": ("msgspec", lambda g: _module("msgspec.msgpack").encode(g)),
    "msgspec.to_builtins": ("msgspec", lambda g: _module("msgspec").to_builtins(g, enc_hook=vars)),
    "pydantic, dump_json": ("pydantic", lambda g: _ANY.dump_json(g, fallback=vars)),
    "pydantic, dump_python": ("pydantic", lambda g: _ANY.dump_python(g, mode="json")),
    "pydantic, model_dump": (
        "pydantic",
        lambda g: Holder(held=g).model_dump(mode="json", fallback=vars),
    ),
    "pydantic, model_dump_json": ("pydantic", lambda g: Holder(held=[g]).model_dump_json()),
    "pydantic, computed": ("pydantic", lambda g: _computed(g).model_dump_json()),
    "pydantic, union": ("pydantic", _validated),
    "pydantic, to_json": (
        "pydantic",
        lambda g: _module("pydantic_core").to_json(UNKNOWN, fallback=_instead(g)),
    ),
    "pydantic, to_jsonable_python": (
        "pydantic",
        lambda g: _module("pydantic_core").to_jsonable_python(g, fallback=vars),
    ),
    "pycrdt": ("pycrdt", _shared),
}

USES: dict[str, Callable[[Any], Any]] = {
    name: use for name, (library, use) in _USES.items() if importlib.util.find_spec(library)
}
"""By name, those of the installed libraries."""
