"""Uses of libraries that ask a function of the application about unknown values.

The function returns the entity, which no argument of the call leads to.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable
from typing import Any

from tests.adapters.uses import Uses, lib
from tests.adapters.uses_encoders import Holder


class Unknown:
    """An object that no encoder knows."""

    __slots__ = ()


UNKNOWN = Unknown()

# Each hook makes one of these of the entity that it found.
RESULTS: dict[str, Callable[[Any], Any]] = {
    "entity": lambda e: e,
    "list": lambda e: [e, {"e": e}],
    "value": lambda e: e["inner"],
    "nothing": lambda _: "nothing",
}


class Later:
    """An entity that does not exist before a hook makes it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def now(entity: Any) -> Any:
    return entity.make() if type(entity) is Later else entity


def _hook(of: Callable[[Any], Any], entity: Any) -> Callable[[Any], Any]:
    def hook(value: Any) -> Any:
        if type(value) is Unknown:
            return of(now(entity))
        raise TypeError(f"no hook for {type(value)}")

    return hook


class _Again:
    """Another unknown object, which the hook returns for the first one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "again"


def _refused(_: Any) -> Any:
    raise KeyError("refused")


def _json(library: str, function: str = "dumps") -> Callable[[Any], Any]:
    return lambda hook: json.loads(
        getattr(getattr(lib, library), function)([UNKNOWN], default=hook)
    )


def _written(library: str, stream: Callable[[], Any]) -> Callable[[Any], Any]:
    def dump(hook: Any) -> Any:
        buffer = stream()
        getattr(lib, library).dump([UNKNOWN], buffer, default=hook)
        return json.loads(buffer.getvalue())

    return dump


def _msgspec(kind: str, **options: Any) -> Callable[[Any], Any]:
    library = f"msgspec.{kind}"
    return lambda hook: getattr(lib, library).encode({"u": UNKNOWN}, enc_hook=hook, **options)


def _msgspec_encoder(kind: str, method: str, **options: Any) -> Callable[[Any], Any]:
    def encode(hook: Any) -> Any:
        encoder = importlib.import_module(f"msgspec.{kind}").Encoder(enc_hook=hook, **options)
        assert encoder.enc_hook is hook
        if method != "encode_into":
            return getattr(encoder, method)([UNKNOWN])
        buffer = bytearray()
        encoder.encode_into([UNKNOWN], buffer)
        return bytes(buffer)

    return encode


def _cbor(method: str) -> Callable[[Any], Any]:
    """Return a use whose hook passes its result to a method of the encoder."""

    def dumps(hook: Any) -> Any:
        def default(encoder: Any, value: Any) -> None:
            made = hook(value)
            if method == "encode_to_bytes":
                encoder.write(encoder.encode_to_bytes(made))
            elif method == "encode_map" and not isinstance(made, dict):
                encoder.encode(made)
            else:
                getattr(encoder, method)(made)

        library = lib.cbor2
        return library.loads(library.dumps([UNKNOWN], default=default if callable(hook) else hook))

    return dumps


def _cbor_encoder(hook: Any) -> bytes:
    buffer = io.BytesIO()
    default = (lambda encoder, value: encoder.encode(hook(value))) if callable(hook) else hook
    lib.cbor2.CBOREncoder(buffer, default=default).encode([UNKNOWN])
    return buffer.getvalue()


def _bson_fallback(hook: Any) -> Any:
    codec = lib.bson.codec_options
    registry = codec.TypeRegistry(fallback_encoder=hook)
    options = codec.CodecOptions(type_registry=registry)
    encoded = lib.bson.encode({"u": UNKNOWN}, codec_options=options)
    assert registry.fallback_encoder is hook
    return lib.bson.decode(encoded)


def _bson_codec(hook: Any) -> Any:
    codec = lib.bson.codec_options

    methods = {"python_type": Unknown, "transform_python": lambda _, value: hook(value)}
    encoder = type("Encoder", (codec.TypeEncoder,), methods)()
    options = codec.CodecOptions(type_registry=codec.TypeRegistry([encoder]))
    message = lib.pymongo.message
    command = {"insert": "c", "u": UNKNOWN}
    _, raw, _, _ = message._op_msg(0, command, "db", None, options)
    return lib.bson.decode(lib.bson.encode({"u": UNKNOWN}, False, options)), raw[16:]


def _pandas(hook: Any) -> Any:
    frame = lib.pandas.DataFrame({"u": [UNKNOWN]})
    return json.loads(frame.to_json(default_handler=hook))


def _model(**values: Any) -> Any:
    fields: Any = dict.fromkeys(values, (Any, ...))
    return lib.pydantic.create_model("Made", **fields)(**values)


def _adapter() -> Any:
    return lib.pydantic.TypeAdapter(Any)


HOOKED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "orjson": {
        "default": _json("orjson"),
        "by position": lambda hook: lib.orjson.dumps([UNKNOWN], hook),
    },
    "ujson": {
        "default": _json("ujson"),
        "encode": _json("ujson", "encode"),
        "dump": _written("ujson", io.StringIO),
    },
    "python-rapidjson": {"default": _json("rapidjson"), "dump": _written("rapidjson", io.BytesIO)},
    "ormsgpack": {
        "default": lambda hook: lib.ormsgpack.packb([UNKNOWN], default=hook),
        "by position": lambda hook: lib.ormsgpack.packb([UNKNOWN], hook),
    },
    "msgspec": {
        "json": _msgspec("json", order="sorted"),
        "msgpack": _msgspec("msgpack"),
        "json.Encoder": _msgspec_encoder("json", "encode"),
        "json.Encoder lines": _msgspec_encoder("json", "encode_lines"),
        "json.Encoder into": _msgspec_encoder("json", "encode_into", order="sorted"),
        "msgpack.Encoder": _msgspec_encoder("msgpack", "encode", order="sorted"),
        "msgpack.Encoder into": _msgspec_encoder("msgpack", "encode_into"),
        "to_builtins": lambda hook: lib.msgspec.to_builtins([UNKNOWN], enc_hook=hook),
        "yaml": _msgspec("yaml"),
    },
    "cbor2": {
        "encode": _cbor("encode"),
        "encode_to_bytes": _cbor("encode_to_bytes"),
        "encode_map": _cbor("encode_map"),
        "Encoder": _cbor_encoder,
    },
    "pymongo": {"fallback": _bson_fallback, "codec": _bson_codec},
    "pandas": {"default_handler": _pandas},
    "pydantic": {
        "to_json": lambda hook: lib.pydantic_core.to_json([UNKNOWN], fallback=hook),
        "to_jsonable_python": lambda hook: lib.pydantic_core.to_jsonable_python(
            [UNKNOWN], fallback=hook
        ),
        "model_dump": lambda hook: _model(u=UNKNOWN).model_dump(mode="json", fallback=hook),
        "model_dump_json": lambda hook: _model(u=UNKNOWN).model_dump_json(fallback=hook),
        "dump_python": lambda hook: _adapter().dump_python([UNKNOWN], mode="json", fallback=hook),
        "dump_json": lambda hook: _adapter().dump_json([UNKNOWN], fallback=hook),
    },
}
"""By library and name: each takes a hook and calls the library with ``UNKNOWN``."""


def _hooked(name: str, use: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    return {
        f"{name}, {result}": lambda e, of=of: use(_hook(of, e)) for result, of in RESULTS.items()
    } | {
        f"{name}, twice": lambda e: use(
            lambda v: [_Again(), now(e)] if type(v) is Unknown else [now(e)]
        ),
        f"{name}, raised": lambda _: use(_refused),
        f"{name}, no function": lambda _: use("no function"),  # refused
        f"{name}, None": lambda _: use(None),  # as without one
    }


def _dataclass(entity: Any) -> Any:
    return lib.orjson.dumps([UNKNOWN], default=lambda _: Holder(now(entity), [now(entity)]))


_MODULES = {"python-rapidjson": "rapidjson", "pymongo": "bson"}
USES = (
    *(
        Uses(
            library,
            {
                name: use
                for hook, taking in hooked.items()
                for name, use in _hooked(hook, taking).items()
            },
            module=_MODULES.get(library, ""),
        )
        for library, hooked in HOOKED.items()
    ),
    Uses("orjson", {"default, dataclass": _dataclass}),
)
