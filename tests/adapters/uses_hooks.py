"""Uses of libraries that ask a function of the application about unknown values.

The function returns the entity, which no argument of the call leads to.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable
from typing import Any

from tests.adapters.uses import Uses, module
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


def _hooked(name: str, use: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """Return the uses of a function that takes a hook and calls the library with ``UNKNOWN``."""
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


class _Again:
    """Another unknown object, which the hook returns for the first one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "again"


def _refused(_: Any) -> Any:
    raise KeyError("refused")


def _json(library: str, function: str = "dumps") -> Callable[[Any], Any]:
    return lambda hook: json.loads(getattr(module(library), function)([UNKNOWN], default=hook))


def _written(library: str, stream: Callable[[], Any]) -> Callable[[Any], Any]:
    def dump(hook: Any) -> Any:
        buffer = stream()
        module(library).dump([UNKNOWN], buffer, default=hook)
        return json.loads(buffer.getvalue())

    return dump


def _msgspec(kind: str, **options: Any) -> Callable[[Any], Any]:
    library = f"msgspec.{kind}"
    return lambda hook: module(library).encode({"u": UNKNOWN}, enc_hook=hook, **options)


def _msgspec_encoder(kind: str, method: str, **options: Any) -> Callable[[Any], Any]:
    def encode(hook: Any) -> Any:
        encoder = module(f"msgspec.{kind}").Encoder(enc_hook=hook, **options)
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

        library = module("cbor2")
        return library.loads(library.dumps([UNKNOWN], default=default if callable(hook) else hook))

    return dumps


def _cbor_encoder(hook: Any) -> bytes:
    buffer = io.BytesIO()
    default = (lambda encoder, value: encoder.encode(hook(value))) if callable(hook) else hook
    module("cbor2").CBOREncoder(buffer, default=default).encode([UNKNOWN])
    return buffer.getvalue()


def _bson_fallback(hook: Any) -> Any:
    codec = importlib.import_module("bson.codec_options")
    registry = codec.TypeRegistry(fallback_encoder=hook)
    options = codec.CodecOptions(type_registry=registry)
    encoded = module("bson").encode({"u": UNKNOWN}, codec_options=options)
    assert registry.fallback_encoder is hook
    return module("bson").decode(encoded)


def _bson_codec(hook: Any) -> Any:
    codec = importlib.import_module("bson.codec_options")

    methods = {"python_type": Unknown, "transform_python": lambda _, value: hook(value)}
    encoder = type("Encoder", (codec.TypeEncoder,), methods)()
    options = codec.CodecOptions(type_registry=codec.TypeRegistry([encoder]))
    message = importlib.import_module("pymongo.message")
    command = {"insert": "c", "u": UNKNOWN}
    _, raw, _, _ = message._op_msg(0, command, "db", None, options)
    return module("bson").decode(module("bson").encode({"u": UNKNOWN}, False, options)), raw[16:]


def _pandas(hook: Any) -> Any:
    frame = module("pandas").DataFrame({"u": [UNKNOWN]})
    return json.loads(frame.to_json(default_handler=hook))


def _model(**values: Any) -> Any:
    fields: Any = dict.fromkeys(values, (Any, ...))
    return module("pydantic").create_model("Made", **fields)(**values)


def _adapter() -> Any:
    return module("pydantic").TypeAdapter(Any)


USES = (
    Uses(
        "orjson",
        "orjson",
        {
            **_hooked("default", _json("orjson")),
            **_hooked("by position", lambda hook: module("orjson").dumps([UNKNOWN], hook)),
            "default, dataclass": lambda e: module("orjson").dumps(
                [UNKNOWN], default=lambda _: Holder(now(e), [now(e)])
            ),
        },
    ),
    Uses(
        "ujson",
        "ujson",
        {
            **_hooked("default", _json("ujson")),
            **_hooked("encode", _json("ujson", "encode")),
            **_hooked("dump", _written("ujson", io.StringIO)),
        },
    ),
    Uses(
        "python-rapidjson",
        "rapidjson",
        {
            **_hooked("default", _json("rapidjson")),
            **_hooked("dump", _written("rapidjson", io.BytesIO)),
        },
    ),
    Uses(
        "ormsgpack",
        "ormsgpack",
        {
            **_hooked("default", lambda hook: module("ormsgpack").packb([UNKNOWN], default=hook)),
            **_hooked("by position", lambda hook: module("ormsgpack").packb([UNKNOWN], hook)),
        },
    ),
    Uses(
        "msgspec",
        "msgspec",
        {
            **_hooked("json", _msgspec("json", order="sorted")),
            **_hooked("msgpack", _msgspec("msgpack")),
            **_hooked("json.Encoder", _msgspec_encoder("json", "encode")),
            **_hooked("json.Encoder lines", _msgspec_encoder("json", "encode_lines")),
            **_hooked("json.Encoder into", _msgspec_encoder("json", "encode_into", order="sorted")),
            **_hooked("msgpack.Encoder", _msgspec_encoder("msgpack", "encode", order="sorted")),
            **_hooked("msgpack.Encoder into", _msgspec_encoder("msgpack", "encode_into")),
            **_hooked(
                "to_builtins",
                lambda hook: module("msgspec").to_builtins([UNKNOWN], enc_hook=hook),
            ),
            **_hooked("yaml", _msgspec("yaml")),
        },
    ),
    Uses(
        "cbor2",
        "cbor2",
        {
            **_hooked("encode", _cbor("encode")),
            **_hooked("encode_to_bytes", _cbor("encode_to_bytes")),
            **_hooked("encode_map", _cbor("encode_map")),
            **_hooked("Encoder", _cbor_encoder),
        },
    ),
    Uses(
        "pymongo",
        "bson",
        {**_hooked("fallback", _bson_fallback), **_hooked("codec", _bson_codec)},
    ),
    Uses("pandas", "pandas", _hooked("default_handler", _pandas)),
    Uses(
        "pydantic",
        "pydantic",
        {
            **_hooked(
                "to_json", lambda hook: module("pydantic_core").to_json([UNKNOWN], fallback=hook)
            ),
            **_hooked(
                "to_jsonable_python",
                lambda hook: module("pydantic_core").to_jsonable_python([UNKNOWN], fallback=hook),
            ),
            **_hooked(
                "model_dump",
                lambda hook: _model(u=UNKNOWN).model_dump(mode="json", fallback=hook),
            ),
            **_hooked(
                "model_dump_json", lambda hook: _model(u=UNKNOWN).model_dump_json(fallback=hook)
            ),
            **_hooked(
                "dump_python",
                lambda hook: _adapter().dump_python([UNKNOWN], mode="json", fallback=hook),
            ),
            **_hooked("dump_json", lambda hook: _adapter().dump_json([UNKNOWN], fallback=hook)),
        },
    ),
)
