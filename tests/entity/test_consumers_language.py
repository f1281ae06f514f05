"""Syntax and built-ins that take a dict give the same for a lazy entity as for a stock one."""

from __future__ import annotations

import types
from collections.abc import Mapping, MutableMapping
from typing import Any

from google.cloud.datastore.entity import Entity

from tests.entity.consumption import Consumer, comparison_of


def _keywords(**properties: Any) -> dict[str, Any]:
    return properties


def _positional(*names: str) -> tuple[str, ...]:
    return names


def _named(text: str, inner: Any, **others: Any) -> Any:
    return text, inner, others


def _match_with_rest(entity: Any) -> Any:
    match entity:
        case {"missing": _}:
            return "missing"
        case {"text": text, **rest}:
            return text, rest
    return None


def _match_nested(entity: Any) -> Any:
    match entity:
        case {"inner": {"deep": deep}, "text": str(text)}:
            return deep, text
    return None


def _updated(target: Any, *arguments: Any, **keywords: Any) -> Any:
    target.update(*arguments, **keywords)
    return target


def _in_place_or(target: Any, other: Any) -> Any:
    target |= other
    return target


def _evaluated(entity: Any) -> Any:
    value = eval("text", entity)  # noqa: S307  # the test's own expression
    # eval() leaves this in the namespace that it was given.
    del entity["__builtins__"]
    return value


def _executed(entity: Any) -> Any:
    exec("seen = text", {}, entity)  # noqa: S102  # the test's own statement
    return entity["seen"]


def _global_names(entity: Any) -> Any:
    def reader() -> Any:
        return text  # type: ignore[name-defined]  # noqa: F821  # a global name of the function made of it

    return types.FunctionType(reader.__code__, entity)()


def _class_namespace(entity: Any) -> Any:
    made = type("Made", (), entity)
    return {name: getattr(made, name) for name in entity}


def _iterated_while_reading(entity: Any) -> Any:
    return [(name, entity[name]) for name in entity]


def _views_before_reading(entity: Any) -> Any:
    items, values, keys = entity.items(), entity.values(), entity.keys()
    entity["added"] = 1
    return list(items), list(values), list(keys)


class _Derived(dict):  # type: ignore[type-arg]  # any dict subclass
    pass


CONSUMERS: dict[str, Consumer] = {
    "dict()": dict,
    "dict() with keywords": lambda e: dict(e, extra=1),
    "dict(**)": lambda e: dict(**e),
    "subclass of dict": _Derived,
    "{**}": lambda e: {**e},
    "f(**)": lambda e: _keywords(**e),
    "f(**) by name": lambda e: _named(**e),
    "f(*)": lambda e: _positional(*e),
    "SimpleNamespace": lambda e: vars(types.SimpleNamespace(**e)),
    "MappingProxyType": lambda e: {name: types.MappingProxyType(e)[name] for name in e},
    "MappingProxyType repr": lambda e: repr(types.MappingProxyType(e)),
    "list": list,
    "sorted": sorted,
    "reversed": lambda e: list(reversed(e)),
    "reversed values": lambda e: list(reversed(e.values())),
    "iterated while reading": _iterated_while_reading,
    "comprehension": lambda e: {name: value for name, value in e.items()},  # noqa: C416  # another consumer
    "map of get": lambda e: list(map(e.get, e)),
    "map of __getitem__": lambda e: list(map(e.__getitem__, e)),
    "keys & set": lambda e: e.keys() & {"text", "missing"},
    "items.mapping": lambda e: [e.items().mapping[name] for name in e],
    "in items": lambda e: (("text", e["text"]) in e.items(), ("text", 0) in e.items()),
    "reflected items ==": lambda e: dict(e).items() == e.items(),
    "repr of views": lambda e: (repr(e.keys()), repr(e.values()), repr(e.items())),
    "live views": _views_before_reading,
    "|": lambda e: e | {"extra": 1},
    "| reflected": lambda e: {"extra": 1} | e,
    "| with pairs": lambda e: e | [("extra", 1)],
    "|=": lambda e: _in_place_or(e, {"text": 1, "extra": 1}),
    "|= into dict": lambda e: _in_place_or({"text": 0}, e),
    "update of dict": lambda e: _updated({"text": 0}, e),
    "update of dict (**)": lambda e: _updated({"text": 0}, **e),
    "update of Entity": lambda e: _updated(Entity(), e),
    "update": lambda e: _updated(e, {"text": 1}, extra=2),
    "dict.update": lambda e: _updated(_Derived(), e),
    "copy": lambda e: e.copy(),
    "unhashable name": lambda e: e[[]],
    "get unhashable": lambda e: e.get([]),
    "name of another type": lambda e: (e.get(1), 1 in e),
    "setdefault": lambda e: (e.setdefault("text", 0), e.setdefault("missing", [])),
    "pop": lambda e: (e.pop("text"), e.pop("text", "gone")),
    "popitem": lambda e: e.popitem(),
    "popitem of empty": lambda e: (e.clear(), e.popitem()),
    "dict.fromkeys": lambda e: dict.fromkeys(e, 0),
    "hash": hash,
    "repr": repr,
    "f-string": lambda e: f"{e} {e!r}",
    "format spec": lambda e: format(e, ">30"),
    "%": lambda e: "%(text)s and %(inner)r" % e,  # noqa: UP031  # it is tested
    "str.format": lambda e: "{text} and {inner!r}".format(**e),
    "str.format by index": lambda e: "{0[text]}".format(e),  # noqa: UP030, UP032  # it is tested
    "format_map": lambda e: "{text} and {inner!r}".format_map(e),
    "maketrans": lambda e: str.maketrans(e),
    "match with rest": _match_with_rest,
    "match nested": _match_nested,
    "eval": _evaluated,
    "exec": _executed,
    "globals of a function": _global_names,
    "class namespace": _class_namespace,
    "vars": lambda e: vars(e),
    "isinstance": lambda e: [
        isinstance(e, kind) for kind in (dict, Mapping, MutableMapping, Entity, list)
    ],
    "issubclass": lambda e: issubclass(type(e), Entity),
    "comparison": lambda e: e < e,  # that there is no order is tested
}


test_same_result = comparison_of(CONSUMERS)
