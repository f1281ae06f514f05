"""Uses of libraries of Rust code that turn Python objects into their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.adapters.uses import Uses, module

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "inner": {"required": ["deep", "missing"]}},
}


def _errors(found: Any) -> list[str]:
    return sorted(each.message for each in found)


def _as_schema(entity: Any) -> bool:
    """Use the entity as a part of a schema."""
    valid: bool = module("jsonschema_rs").is_valid({"const": entity}, entity)
    return valid


def _validator(schema: Any, method: str, entity: Any) -> Any:
    return getattr(module("jsonschema_rs").validator_for(schema), method)(entity)


def _sorted(value: Any) -> Any:
    """Return a value with its dicts in the order of their keys, which Rust has at random."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return list(map(_sorted, value)) if isinstance(value, (list, tuple)) else value


def _shared(kind: str, change: Callable[[Any], object]) -> Any:
    """Return the contents of a shared document after a change."""
    document = module("pycrdt").Doc()
    document["shared"] = shared = getattr(module("pycrdt"), kind)()
    change(shared)
    return _sorted(shared.diff() if kind == "Text" else shared.to_py())


def _made(kind: str, content: Any) -> Any:
    document = module("pycrdt").Doc()
    document["shared"] = shared = getattr(module("pycrdt"), kind)(content)
    return _sorted(shared.to_py())


def _formatted(entity: Any) -> Any:
    def change(text: Any) -> None:
        text += "a text"
        text.format(0, 1, entity)

    return _shared("Text", change)


def _xml(entity: Any) -> Any:
    pycrdt = module("pycrdt")
    document = pycrdt.Doc()
    document["shared"] = fragment = pycrdt.XmlFragment()
    text = fragment.children.append(pycrdt.XmlText("a text"))
    text.insert(0, "more", entity)
    text.format(0, 2, {"number": entity["number"]})
    text.insert_embed(0, entity)
    return _sorted(text.diff())


USES = (
    Uses(
        "jsonschema-rs",
        "jsonschema_rs",
        {
            "is_valid": lambda e: module("jsonschema_rs").is_valid(SCHEMA, e),
            "validate": lambda e: module("jsonschema_rs").validate(SCHEMA, {"e": [e]}),
            "validate, refused": lambda e: module("jsonschema_rs").validate(SCHEMA, [e]),
            "iter_errors": lambda e: _errors(module("jsonschema_rs").iter_errors(SCHEMA, e)),
            "evaluate": lambda e: module("jsonschema_rs").evaluate(SCHEMA, e).valid,
            "schema": _as_schema,
            "validator_for": lambda e: _validator({"const": e}, "is_valid", e),
            "Validator.is_valid": lambda e: _validator(SCHEMA, "is_valid", [e]),
            "Validator.validate": lambda e: _validator({}, "validate", [e]),
            "Validator.iter_errors": lambda e: _errors(_validator(SCHEMA, "iter_errors", e)),
            "Validator.evaluate": lambda e: _validator(SCHEMA, "evaluate", e).valid,
        },
    ),
    Uses(
        "pycrdt",
        "pycrdt",
        {
            "Map": lambda e: _made("Map", e),
            "Map of entities": lambda e: _made("Map", {"e": [e]}),
            "Map, item": lambda e: _shared("Map", lambda shared: shared.__setitem__("e", e)),
            "Map, update": lambda e: _shared("Map", lambda shared: shared.update(e)),
            "Array": lambda e: _made("Array", [e, [e]]),
            "Array, append": lambda e: _shared("Array", lambda shared: shared.append(e)),
            "Array, item": lambda e: _shared("Array", lambda shared: shared.extend([e, e])),
            "Text, embed": lambda e: _shared("Text", lambda shared: shared.insert_embed(0, e)),
            "Text, insert": lambda e: _shared("Text", lambda shared: shared.insert(0, "a", e)),
            "Text, format": _formatted,
            "XmlText": _xml,
        },
    ),
)
