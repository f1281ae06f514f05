"""Uses of the encoders of JSON, MessagePack, BSON and XML."""

from __future__ import annotations

import dataclasses
import io
import json
import xml.etree.ElementTree as ET
from collections import OrderedDict
from typing import Any, NamedTuple

from tests.adapters.uses import TEXTS, Uses, lib

OTHER = object()
"""An object that no encoder knows."""


def _unknown(_: Any) -> str:
    return "unknown"


@dataclasses.dataclass
class Holder:
    held: Any
    several: list[Any]


class Pair(NamedTuple):
    first: Any
    second: Any


def _cyclic(entity: Any) -> list[Any]:
    cycle: list[Any] = [entity]
    cycle.append(cycle)
    return cycle


def _written(library: str, entity: Any, **options: Any) -> Any:
    buffer = io.StringIO()
    getattr(lib, library).dump([entity], buffer, **options)
    return json.loads(buffer.getvalue())


def _json(library: str, function: str = "dumps") -> dict[str, Any]:
    def dumps(value: Any, **options: Any) -> Any:
        return json.loads(getattr(getattr(lib, library), function)(value, **options))

    return {
        "entity": dumps,
        "list of entities": lambda e: dumps([e, e]),
        "deep": lambda e: dumps({"a": [{"b": (e,)}]}),
        "value": lambda e: dumps(e["inner"]),
        "default": lambda e: dumps({"e": e, "o": OTHER}, default=_unknown),
        "default str": lambda e: dumps(e, default=str),
        "refused": lambda e: dumps([e, OTHER]),
        "in a dict subclass": lambda e: dumps(OrderedDict(e=e)),
        "nothing": lambda _: getattr(getattr(lib, library), function)(),
    }


def _etree_built(entity: Any) -> bytes:
    builder = ET.TreeBuilder()
    builder.start("root", entity)
    builder.end("root")
    return ET.tostring(builder.close())


def _etree_child(entity: Any) -> bytes:
    root = ET.Element("root")
    ET.SubElement(root, "child", entity)
    ET.SubElement(root, "child", attrib=entity)
    return ET.tostring(root)


def _etree_assigned(entity: Any) -> bytes:
    root = ET.Element("root")
    ET.SubElement(root, "child").attrib = entity
    buffer = io.BytesIO()
    ET.ElementTree(root).write(buffer)
    return buffer.getvalue()


def _etree_subclass(entity: Any) -> Any:
    class Own(ET.Element):
        pass

    own = Own("own", {"a": "b"})
    return isinstance(own, ET.Element), isinstance(ET.Element("a"), ET.Element), own.get("a")


def _bson(value: Any, **options: Any) -> Any:
    bson = lib.bson
    return bson.decode(bson.encode(value, **options))


def _bson_fallback(entity: Any) -> Any:
    options = lib.bson.codec_options
    registry = options.TypeRegistry(fallback_encoder=_unknown)
    codec = options.CodecOptions(type_registry=registry)
    return _bson({"e": entity, "o": OTHER}, codec_options=codec)


def _mongo_message(entity: Any) -> Any:
    message = lib.pymongo.message
    codec = lib.bson.codec_options.DEFAULT_CODEC_OPTIONS
    command = OrderedDict(insert="c", documents=[entity])
    _, raw, size, _ = message._op_msg(0, command, "db", None, codec)
    command = OrderedDict(insert="c")
    return raw[16:], size


def _cbor(value: Any, **options: Any) -> Any:
    library = lib.cbor2
    return library.loads(library.dumps(value, **options))


def _cbor_written(method: str, value: Any) -> Any:
    buffer = io.BytesIO()
    made = getattr(lib.cbor2.CBOREncoder(buffer), method)(value)
    return str(made), buffer.getvalue()


def _ormsgpack(value: Any, **options: Any) -> Any:
    library = lib.ormsgpack
    return library.unpackb(library.packb(value, **options))


def _orjson_option(name: str, value: Any, **options: Any) -> Any:
    orjson = lib.orjson
    return json.loads(orjson.dumps(value, option=getattr(orjson, name), **options))


def _msgspec_encoder(kind: str, value: Any, **options: Any) -> Any:
    library = getattr(lib.msgspec, kind)
    return library.decode(library.Encoder(**options).encode(value))


def _msgspec_into(entity: Any) -> bytes:
    buffer = bytearray()
    lib.msgspec.json.Encoder().encode_into([entity], buffer)
    return bytes(buffer)


def _msgspec_struct(entity: Any) -> Any:
    msgspec = lib.msgspec
    struct = msgspec.defstruct("Held", ["held", "others"])
    return msgspec.json.decode(msgspec.json.encode(struct(entity, [entity])))


def _msgspec_converted(kind: Any, entity: Any, **options: Any) -> Any:
    return lib.msgspec.convert(entity, kind, **options)


def _msgspec_typed(entity: Any) -> Any:
    msgspec = lib.msgspec
    struct = msgspec.defstruct("Some", [("text", str), ("number", int), ("inner", dict[str, str])])
    return msgspec.to_builtins(msgspec.convert(entity, struct))


USES = (
    Uses(
        "orjson",
        {
            **_json("orjson"),
            "default by position": lambda e: lib.orjson.dumps([e, OTHER], _unknown),
            "sorted": lambda e: _orjson_option("OPT_SORT_KEYS", e),
            "passed through": lambda e: _orjson_option("OPT_PASSTHROUGH_SUBCLASS", e, default=dict),
            "subclass refused": lambda e: _orjson_option("OPT_PASSTHROUGH_SUBCLASS", e),
            "dataclass": lambda e: lib.orjson.dumps(Holder(e, [e])),
            "cycle": lambda e: lib.orjson.dumps(_cyclic(e)),
        },
    ),
    Uses(
        "msgspec",
        {
            "json": lambda e: json.loads(lib.msgspec.json.encode([e])),
            "json hook": lambda e: lib.msgspec.json.encode([e, OTHER], enc_hook=_unknown),
            "msgpack": lambda e: lib.msgspec.msgpack.encode([e]),
            "json.Encoder": lambda e: _msgspec_encoder("json", e),
            "json.Encoder hook": lambda e: _msgspec_encoder("json", e, enc_hook=_unknown),
            "json.Encoder refused": lambda e: _msgspec_encoder("json", [e, OTHER]),
            "json.Encoder sorted": lambda e: _msgspec_encoder("json", e, order="sorted"),
            "json.Encoder lines": lambda e: lib.msgspec.json.Encoder().encode_lines([e, e]),
            "json.Encoder lines of a generator": lambda e: lib.msgspec.json.Encoder().encode_lines(
                each for each in (e, [e], e)
            ),
            "json.Encoder into": _msgspec_into,
            "msgpack.Encoder": lambda e: _msgspec_encoder("msgpack", {"e": (e,)}),
            "Encoder is one": lambda _: isinstance(
                lib.msgspec.json.Encoder(), lib.msgspec.json.Encoder
            ),
            "struct": _msgspec_struct,
            "to_builtins": lambda e: lib.msgspec.to_builtins([e]),
            "to_builtins hook": lambda e: lib.msgspec.to_builtins(e, enc_hook=_unknown),
            "convert to dict": lambda e: _msgspec_converted(dict, e),
            "convert to dict of Any": lambda e: _msgspec_converted(dict[str, Any], e),
            "convert to Any": lambda e: _msgspec_converted(Any, e),
            "convert to a union": lambda e: _msgspec_converted(dict[str, int] | list[int], e),
            "convert to a struct": _msgspec_typed,
            "convert strictly": lambda e: _msgspec_converted(dict[str, str], e),
        },
    ),
    Uses("ujson", {**_json("ujson"), "dump": lambda e: _written("ujson", e)}),
    Uses(
        "python-rapidjson",
        {
            **_json("rapidjson"),
            "dump": lambda e: _written("rapidjson", e),
            "dump default": lambda e: _written("rapidjson", e, default=_unknown),
            "iterator": lambda e: lib.rapidjson.dumps({"e": iter([e["inner"], e, e])}),
            "Encoder": lambda e: json.loads(lib.rapidjson.Encoder()(e)),
            "Encoder subclass": lambda e: json.loads(
                type("Own", (lib.rapidjson.Encoder,), {"default": _unknown})()([e])
            ),
        },
        module="rapidjson",
    ),
    Uses(
        "ormsgpack",
        {
            "entity": _ormsgpack,
            "list": lambda e: _ormsgpack([e, {"e": e}]),
            "default": lambda e: _ormsgpack([e, OTHER], default=_unknown),
            "refused": lambda e: _ormsgpack([e, OTHER]),
        },
    ),
    Uses(
        "cbor2",
        {
            "entity": _cbor,
            "list": lambda e: _cbor([e, {"e": e}]),
            "default": lambda e: _cbor(e, default=_unknown),
            "Encoder": lambda e: _cbor_written("encode", [e]),
            "Encoder.encode_value": lambda e: _cbor_written("encode_value", e),
            "Encoder.encode_sortable_key": lambda e: _cbor_written("encode_sortable_key", e),
            "tag": lambda e: lib.cbor2.dumps(lib.cbor2.CBORTag(5000, [e])),
            "frozendict": lambda e: lib.cbor2.dumps({"f": lib.cbor2.frozendict(e)}),
        },
    ),
    Uses(
        "pymongo",
        {
            "entity": _bson,
            "scope of code": lambda e: lib.bson.encode({"c": lib.bson.code.Code("x", e)}),
            "nested": lambda e: _bson({"e": [e]}),
            "refused": lambda e: _bson({"e": [e], "o": OTHER}),
            "fallback": _bson_fallback,
            "BSON": lambda e: bytes(lib.bson.BSON.encode(e)),
            "message": _mongo_message,
        },
        module="bson",
    ),
    Uses(
        None,
        {
            "Element": lambda e: ET.tostring(ET.Element("root", e)),
            "Element attrib": lambda e: ET.tostring(ET.Element("root", attrib=e)),
            "SubElement": _etree_child,
            "TreeBuilder": _etree_built,
            "attrib": _etree_assigned,
            "subclass": _etree_subclass,
        },
        module="xml.etree.ElementTree",
        raw=TEXTS,
    ),
)
