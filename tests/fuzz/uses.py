"""Calls of adapted libraries that take any object, and return builtins, bytes or text."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, TypeAdapter, computed_field

from tests.adapters.uses_hooks import UNKNOWN, Unknown

Use = Callable[[Any], Any]

_ANY = TypeAdapter(Any)


class Holder(BaseModel):
    """A model with one field."""

    held: Any


def _function(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _given(path: str, **options: Any) -> Use:
    """Return a call of a function with a graph."""
    return lambda graph: _function(path)(graph, **options)


def _hooked(path: str, keyword: str, *, in_list: bool = False) -> Use:
    """Return a call of a function with an unknown object, for which its hook gives the graph."""
    given = [UNKNOWN] if in_list else UNKNOWN
    return lambda graph: _function(path)(given, **{keyword: _instead(graph)})


def _instead(graph: Any) -> Callable[[Any], Any]:
    """Return a hook that shows a graph, and the attributes of other objects."""

    def hook(value: Any) -> Any:
        return graph if type(value) is Unknown else vars(value)

    return hook


def _cbor(graph: Any) -> Any:
    hook = _instead(graph)
    return _function("cbor2.dumps")(
        [UNKNOWN], default=lambda encoder, unknown: encoder.encode(hook(unknown))
    )


def _bson(value: Any, hook: Any = None) -> bytes:
    registry = _function("bson.codec_options.TypeRegistry")(fallback_encoder=hook)
    options = _function("bson.codec_options.CodecOptions")(type_registry=registry)
    encoded: bytes = _function("bson.encode")({"value": value}, codec_options=options)
    return encoded


def _json_encoder(value: Any, hook: Any = None) -> bytes:
    encoded: bytes = _function("msgspec.json.Encoder")(enc_hook=hook).encode(value)
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
    document = _function("pycrdt.Doc")()
    document["shared"] = shared = _function("pycrdt.Map")({"value": value})
    return shared.to_py()


def _validated(value: Any) -> Any:
    # pydantic may take it for something else; its dump has to be stock's.
    made = TypeAdapter(dict[str, int] | list[Any] | Any).validate_python(value)
    return _ANY.dump_python(made, mode="json", fallback=vars)


_USES: dict[str, Use] = {
    "orjson": _given("orjson.dumps"),
    "orjson, default": _given("orjson.dumps", default=vars),
    "orjson, hook": _hooked("orjson.dumps", "default"),
    "ujson": _given("ujson.dumps"),
    "ujson, hook": _hooked("ujson.dumps", "default", in_list=True),
    "rapidjson": _given("rapidjson.dumps"),
    "rapidjson, hook": _hooked("rapidjson.dumps", "default", in_list=True),
    "ormsgpack": _given("ormsgpack.packb"),
    "ormsgpack, hook": _hooked("ormsgpack.packb", "default", in_list=True),
    "cbor2": _given("cbor2.dumps"),
    "cbor2, hook": _cbor,
    "bson": _bson,
    "bson, hook": lambda graph: _bson(UNKNOWN, _instead(graph)),
    "msgspec.json": _given("msgspec.json.encode"),
    "msgspec.json, hook": _hooked("msgspec.json.encode", "enc_hook"),
    "msgspec.json.Encoder": _json_encoder,
    "msgspec.json.Encoder, hook": lambda graph: _json_encoder(UNKNOWN, _instead(graph)),
    "msgspec.msgpack": _given("msgspec.msgpack.encode"),
    "msgspec.to_builtins": _given("msgspec.to_builtins", enc_hook=vars),
    "pydantic, dump_json": lambda graph: _ANY.dump_json(graph, fallback=vars),
    "pydantic, dump_python": lambda graph: _ANY.dump_python(graph, mode="json"),
    "pydantic, model_dump": lambda graph: Holder(held=graph).model_dump(mode="json", fallback=vars),
    "pydantic, model_dump_json": lambda graph: Holder(held=[graph]).model_dump_json(),
    "pydantic, computed": lambda graph: _computed(graph).model_dump_json(),
    "pydantic, union": _validated,
    "pydantic, to_json": _hooked("pydantic_core.to_json", "fallback"),
    "pydantic, to_jsonable_python": _given("pydantic_core.to_jsonable_python", fallback=vars),
    "pycrdt": _shared,
}
USES: dict[str, Use] = {
    name: use for name, use in _USES.items() if importlib.util.find_spec(re.split("[.,]", name)[0])
}
"""Uses of installed libraries by name, which begins with the library's."""
