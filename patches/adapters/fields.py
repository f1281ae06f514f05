"""The names that pydantic takes from an entity for the fields of a model, noted for a profile."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

from lazyentity._classes import forgetting
from lazyentity.codec.describing import module_of
from lazyentity.profiling import observer
from lazyentity.profiling.counts import Model
from lazyentity.search import are_stored, decode_in_place, is_taken_for_valid

_Schema = Mapping[str, Any]

# A metaclass can have another one.
_qualname = vars(type)["__qualname__"].__get__

_VALIDATING = frozenset(
    (("pydantic.main", "model_validate"), ("pydantic.type_adapter", "validate_python"))
)
_NEAR = 8
"""Frames between pydantic's method that validates and the check of a model."""

_INNER = {
    "default": "schema",
    "function-after": "schema",
    "nullable": "schema",
    "generator": "items_schema",
    "list": "items_schema",
}
"""Types of schemas that pass an entity on unchanged, with the key of the inner schema."""
SCALARS = frozenset(("none", "bool", "int", "float", "str", "bytes", "date", "datetime"))
"""Types of schemas that refuse an entity."""


def decode_input(model: Any, entity: Any) -> None:
    """Decode an entity from which pydantic-core takes the fields of a model next."""
    decode_in_place(entity, validating=True)
    if observer.data is not None:
        _note_model(model, entity, sys._getframe(1))


def names_of(model: Any) -> tuple[str, ...] | None:
    """Return the names that pydantic-core looks for in a dict, in the order of the model's fields.

    Args:
        model: the class.

    Returns:
        Names and aliases. None, if the model may take any property: it keeps further ones, or has
        code of the application see the dict first.
    """
    (schema,) = _leaves(model.__pydantic_core_schema__, {})
    if schema["type"] != "model":
        return None
    inner, config = schema["schema"], schema.get("config", {})
    extra = inner.get("extra_behavior", config.get("extra_fields_behavior", "ignore"))
    is_whole = extra != "ignore" or schema.get("custom_init") or schema.get("root_model")
    if is_whole or inner["type"] != "model-fields":
        return None
    names: dict[str, None] = {}
    for name, field in inner["fields"].items():
        names.update(dict.fromkeys(_first_names(field.get("validation_alias"))))
        # Beside an alias, the name counts if an option of the class or of the call says so.
        names[name] = None
    return tuple(names)


_read: dict[int, Any] = {}
"""By the id of a model: a weak reference, its token, and the names that are read from objects."""


def gives_attributes(kind: Any) -> bool:
    """Say whether pydantic-core takes nothing but attributes from instances of ``kind``.

    Mappings give the fields by their methods, and a tuple may hold the object.
    """
    return not (hasattr(kind, "__getitem__") or hasattr(kind, "__iter__"))


def stored_names(model: Any, kind: Any) -> tuple[str, ...] | None:
    """Return the names of all attributes that pydantic-core reads, if reading them runs no code.

    Args:
        model: takes its fields from the attributes of an object.
        kind: the type of the object.

    Returns:
        Names and aliases of the fields. None, if others may be read, or if code is run.
    """
    if not gives_attributes(kind):
        return None
    token = _token(model, getattr(model, "__pydantic_core_schema__", None))
    known = _read.get(id(model))
    if known is None or known[1] is not token or token is None:
        try:
            names = names_of(model) if _checks_instances(model) and not _has_paths(model) else None
        except Exception:  # noqa: BLE001  # a schema of another version: anything may be read
            names = None
        known = _read[id(model)] = forgetting(model, _read), token, names
    found: tuple[str, ...] | None = known[2]
    return found if found is not None and are_stored(kind, found) else None


def _has_paths(model: Any) -> bool:
    """Say whether an alias leads into the value of an attribute."""
    return any(
        not isinstance(field.validation_alias, str | None) for field in model.model_fields.values()
    )


def _checks_instances(model: Any) -> bool:
    """Say whether a model has pydantic's own check: a metaclass can have another one."""
    # pydantic is half imported when this module is.
    metaclass: Any = type(sys.modules["pydantic.main"].BaseModel)
    found: bool = type(model).__instancecheck__ is metaclass.__instancecheck__
    return found


def _token(owner: Any, schema: Any) -> Any:
    """Return an object that another schema of the owner does not have, and that leads to no owner.

    Building a model anew makes another schema. A schema leads to its models, which it would keep
    alive. None, if there is no such object.
    """
    if type(schema) is not dict or not isinstance(owner, type):
        return schema
    return schema.get("config")


_closed: dict[int, Any] = {}
"""By the id of a model or type adapter: a weak reference, a token, and what is_closed() says."""

_CLOSED_LEAVES = SCALARS | {"time", "timedelta", "decimal", "uuid", "url"}
_CLOSED_INNER = {
    "nullable": "schema",
    "default": "schema",
    "list": "items_schema",
    "set": "items_schema",
    "frozenset": "items_schema",
    "model-field": "schema",
}


def is_closed(owner: Any, schema: Any) -> bool:
    """Say whether a schema lets entities into models alone, and dumps no other values than these.

    Values of any other type are refused, or reported by a warning. pydantic-core checks what it
    makes a model of: see the replacement of ``__instancecheck__``. It runs no code of the
    application. So the values need no look before they are validated.

    Args:
        owner: the model or type adapter whose schema this is.
        schema: a core schema, perhaps one that is not built yet.
    """
    token = _token(owner, schema)
    if token is None:
        return False
    known = _closed.get(id(owner))
    if known is None or known[1] is not token:
        try:
            answer = type(schema) is dict and is_closed_schema(schema)
        except Exception:  # noqa: BLE001  # a schema of another version: anything is possible
            answer = False
        known = _closed[id(owner)] = forgetting(owner, _closed), token, answer
    found: bool = known[2]
    return found


def is_closed_schema(schema: _Schema) -> bool:
    """As :func:`is_closed`, of a schema that is built.

    Raises:
        KeyError: if the schema is of another version of pydantic-core.
    """
    return _is_closed(schema, {})


def takes_closed(schema: _Schema, call: _Schema, unread: int) -> bool:
    """As :func:`is_closed_schema`, of the arguments of a validated function.

    Args:
        schema: of the call, with its definitions.
        call: the schema of the call itself.
        unread: how many of the first arguments pydantic hands on unread.
    """
    arguments = call["arguments_schema"]
    parts = arguments["arguments_schema"][unread:]
    each = [part["schema"] for part in parts]
    each += [
        arguments[rest] for rest in ("var_args_schema", "var_kwargs_schema") if rest in arguments
    ]
    refs = {part["ref"]: True for part in schema.get("definitions", ())}
    return (
        all(isinstance(part.get("alias", ""), str) for part in parts)
        and all(_is_closed(part, refs) for part in schema.get("definitions", ()))
        and all(_is_closed(part, refs) for part in each)
    )


def only_model(schema: _Schema) -> weakref.ref[Any] | None:
    """Return a reference to the one model that values get to; None, if they may get elsewhere.

    Raises:
        As :func:`is_closed_schema`.
    """
    leaves = list(_leaves(schema, {}))
    if len(leaves) == 1 and leaves[0]["type"] == "model":
        return weakref.ref(leaves[0]["cls"])
    return None


def _is_closed(schema: _Schema, refs: dict[str, bool]) -> bool:
    """As :func:`is_closed`; ``refs`` are definitions, which are closed as far as is known.

    Raises:
        KeyError: if the schema is of another version of pydantic-core.
    """
    kind = schema["type"]
    if "serialization" in schema:
        return False
    if kind == "definitions":
        refs = refs | {each["ref"]: True for each in schema["definitions"]}
        each_closed = (_is_closed(each, refs) for each in schema["definitions"])
        return all(each_closed) and _is_closed(schema["schema"], refs)
    if kind == "definition-ref":
        return refs[schema["schema_ref"]]
    if kind == "model-field" and not isinstance(schema.get("validation_alias", ""), str):
        # A path leads into values of any type.
        return False
    if kind in _CLOSED_INNER:
        # A list of anything has no inner schema.
        return _is_closed(schema[_CLOSED_INNER[kind]], refs)
    if kind == "union":
        choices = [each[0] if isinstance(each, tuple) else each for each in schema["choices"]]
        return all(_is_closed(choice, refs) for choice in choices)
    if kind == "model":
        inner, config = schema["schema"], schema.get("config", {})
        extra = inner.get("extra_behavior", config.get("extra_fields_behavior", "ignore"))
        return (
            extra != "allow"
            and not (schema.get("custom_init") or schema.get("root_model"))
            and _checks_instances(schema["cls"])
            and is_taken_for_valid(schema["cls"])
            and _are_closed(inner, refs)
        )
    return kind in _CLOSED_LEAVES


def _are_closed(schema: _Schema, refs: dict[str, bool]) -> bool:
    """Say so of the fields of a model; without one, nothing checks what they are taken from."""
    if (
        schema["type"] != "model-fields"
        or schema.get("computed_fields")
        or "extras_schema" in schema
    ):
        return False
    return all(_is_closed(each, refs) for each in schema["fields"].values())


def _first_names(alias: Any) -> Iterable[str]:
    """Return the names that an alias, a path, or several paths begin with."""
    if alias is None:
        return ()
    if isinstance(alias, str):
        return (alias,)
    paths = alias if isinstance(alias[0], list) else [alias]
    return [path[0] for path in paths]


def _leaves(schema: _Schema, definitions: dict[str, _Schema]) -> Iterator[_Schema]:
    """Yield the schemas that an entity, or a list of entities, gets to first.

    Raises:
        KeyError: if the schema is of another version of pydantic-core, or leads to itself.
    """
    kind = schema["type"]
    if kind == "definitions":
        known = definitions | {each["ref"]: each for each in schema["definitions"]}
        yield from _leaves(schema["schema"], known)
    elif kind == "definition-ref":
        # A type that leads to itself, and to no model, raises KeyError.
        rest = {ref: known for ref, known in definitions.items() if ref != schema["schema_ref"]}
        yield from _leaves(definitions[schema["schema_ref"]], rest)
    elif kind in _INNER and _INNER[kind] in schema:
        yield from _leaves(schema[_INNER[kind]], definitions)
    elif kind == "tagged-union":
        for choice in schema["choices"].values():
            yield from _leaves(choice, definitions)
    elif kind == "union":
        for choice in schema["choices"]:
            yield from _leaves(choice[0] if isinstance(choice, tuple) else choice, definitions)
    elif kind not in SCALARS:
        yield schema


def _is_alone(model: Any, frame: FrameType | None) -> bool:
    """Say whether nothing but models gets the entity, this one among them.

    Args:
        model: takes its fields from the entity.
        frame: runs the check of the model; the method that validates is among its callers.
    """
    for _ in range(_NEAR):
        if frame is None:
            return False
        name = frame.f_code.co_name
        if (module_of(frame), name) in _VALIDATING:
            given = frame.f_locals
            schema = getattr(given.get("self"), "core_schema", None)
            if name == "model_validate":
                schema = given["cls"].__pydantic_core_schema__
            leaves = () if schema is None else tuple(_leaves(schema, {}))
            models = {leaf["cls"] for leaf in leaves if leaf["type"] == "model"}
            return model in models and all(leaf["type"] == "model" for leaf in leaves)
        frame = frame.f_back
    return False


# A profile must not keep a class alive.
_described: weakref.WeakKeyDictionary[Any, Model] = weakref.WeakKeyDictionary()
# Between profiles a model can be rebuilt.
observer.listen(lambda _: _described.clear())


def _describe(model: Any) -> Model:
    found = _described.get(model)
    if found is None:
        names = names_of(model)
        are_fields = names == tuple(model.model_fields)
        found = _described[model] = Model(_qualname(model), names, are_fields)
    return found


def _note_model(model: Any, entity: Any, frame: FrameType) -> None:
    """Note in a profile that a model took its fields from an entity.

    Args:
        model: the class.
        entity: lazy.
        frame: as for :func:`_is_alone`.
    """
    entity_counts = getattr(entity, "_entity_counts", None)
    if entity_counts is None:
        return
    try:
        note = _describe(model)
        if not _is_alone(model, frame):
            note = note._replace(names=None)
    except Exception:  # noqa: BLE001  # a profile must not fail a validation
        note = Model(_qualname(model), None, False)
    entity_counts.validated(note, dict.keys(entity))
