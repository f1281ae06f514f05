"""Core schemas of pydantic: the results of the application's functions in them are decoded.

An entity that a validator, serializer or default factory returns is not among the arguments of the
adapted call. So validators and serializers are built of schemas in which each such function is an
:class:`AdaptedFunction`. The application's schemas stay as they are: the changed parts are copies.

Values that a function passes to its handler are decoded as well. A validator's handler is
pydantic-core's own, so the inner schema gets a function that decodes first. Each level of nested
validators takes one more Python frame for it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, cast

from pydantic_core import core_schema

from lazyentity._alive import are_bare, is_bare
from lazyentity._inplace import SLOTS, When
from lazyentity.patches.adapters.calls import CallSeam
from lazyentity.patches.adapters.cores import forget, forget_all
from lazyentity.patches.adapters.fields import SCALARS
from lazyentity.patches.adapters.results import DecodingFunction
from lazyentity.patches.registry import Seam
from lazyentity.search import decode_in_place, decoded_in_place, is_plain

_IsActive = Callable[[], bool]

# Parts of a schema that hold no schemas, but objects of the application.
_NO_SCHEMAS = frozenset(
    (
        "metadata",
        "default",
        "cls",
        "expected",
        "values",
        "members",
        "config",
        "custom_error_context",
    )
)


_PARTS = frozenset((dict, list, tuple))

_EXCLUDE_IF = "serialization_exclude_if"
# Older versions do not ask whether a computed field is excluded.
_CAN_EXCLUDE = _EXCLUDE_IF in core_schema.ComputedField.__annotations__


def _is_model_given(returned: Any, args: tuple[Any, ...]) -> bool:
    """Say whether a validator returns the model it was given, which pydantic takes for valid."""
    return bool(args) and returned is args[0] and hasattr(type(returned), "__pydantic_fields_set__")


class AdaptedFunction(DecodingFunction):
    """A validator or default factory that pydantic-core calls; its result is decoded."""

    __slots__ = ("_is_active",)

    def __init__(self, function: Callable[..., Any], is_active: _IsActive) -> None:
        super().__init__(function)
        self._is_active = is_active

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        returned = self._function(*args, **kwargs)
        if is_bare(returned) or _is_model_given(returned, args) or not self._is_active():
            return returned
        return decoded_in_place(returned, validating=True)


class AdaptedSerializer(AdaptedFunction):
    """A serializer; pydantic-core looks into the models that it returns."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        returned = self._function(*args, **kwargs)
        if is_bare(returned) or not self._is_active():
            return returned
        return decoded_in_place(returned)


class AdaptedWrapSerializer(AdaptedFunction):
    """A serializer that gets a handler; the value that it passes to the handler is decoded, too."""

    __slots__ = ("_position",)

    def __init__(self, function: Callable[..., Any], is_active: _IsActive, position: int) -> None:
        super().__init__(function, is_active)
        self._position = position

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if not self._is_active():
            return self._function(*args, **kwargs)
        position = self._position
        if len(args) > position:
            handler = _Handler(args[position])
            args = (*args[:position], handler, *args[position + 1 :])
        # A call of the base class's method would add a frame for each nested serializer.
        returned = self._function(*args, **kwargs)
        if is_bare(returned):
            return returned
        return decoded_in_place(returned)


class _Handler:
    """The handler of a serializer, which gets its arguments decoded."""

    __slots__ = ("_handler",)

    def __init__(self, handler: Callable[..., Any]) -> None:
        self._handler = handler

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if are_bare(args, kwargs):
            return self._handler(*args, **kwargs)
        if not all(map(is_plain, args)):
            args = tuple(map(decoded_in_place, args))
        if kwargs:
            kwargs = {name: decoded_in_place(value) for name, value in kwargs.items()}
        return self._handler(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def __repr__(self) -> str:
        return repr(self._handler)


class _Decoding:
    """Decodes a value that a validator passes to its handler.

    A pickle or copy of it returns each value as it is.
    """

    __slots__ = ("_is_active",)

    def __init__(self, is_active: _IsActive) -> None:
        self._is_active = is_active

    def __call__(self, value: Any, /) -> Any:
        if is_bare(value) or not self._is_active():
            return value
        return decoded_in_place(value)

    def __reduce__(self) -> Any:
        # A pickle needs no module of lazyentity.
        return functools.partial, (cast, None)


class _IsExcluded:
    """Decodes the value of a computed field; says whether the application excludes it.

    pydantic-core asks before it serialises the value. A serializer around that of the field would
    not do: it is not told the options of the call, such as ``include``.
    """

    __slots__ = ("_is_active", "_is_excluded")

    def __init__(self, is_excluded: Callable[[Any], Any] | None, is_active: _IsActive) -> None:
        # A pickle needs no module of lazyentity: nothing is in an empty tuple.
        self._is_excluded = is_excluded or functools.partial(operator.contains, ())
        self._is_active = is_active

    def __call__(self, value: Any, /) -> Any:
        __tracebackhide__ = True
        if not is_plain(value) and self._is_active():
            decode_in_place(value)
        return self._is_excluded(value)

    def __reduce__(self) -> Any:
        return operator.itemgetter(0), ((self._is_excluded,),)


class _Adapting:
    """Puts adapted functions into one schema."""

    def __init__(self, is_active: _IsActive) -> None:
        self._is_active = is_active
        # By id, with the original: a part that is in several places stays one part.
        self._adapted: dict[int, tuple[Any, Any]] = {}

    def adapted(self, part: Any) -> Any:
        """Return a part of a schema with adapted functions; the part itself, if it has none."""
        if len(part) == 1 and type(part) is dict and type(part.get("type")) is str:
            # The most frequent part, as of a string or a number.
            return part
        known = self._adapted.get(id(part))
        if known is None:
            # For a part inside itself, which core schemas do not have.
            self._adapted[id(part)] = part, part
            known = part, self._of_dict(part) if type(part) is dict else self._of_items(part)
            self._adapted[id(part)] = known
        return known[1]

    def _of_items(self, part: Any) -> Any:
        items = [self.adapted(item) if type(item) in _PARTS else item for item in part]
        return part if all(map(operator.is_, items, part)) else type(part)(items)

    def _of_dict(self, part: dict[Any, Any]) -> dict[Any, Any]:
        changed = {}
        kind: Any = part.get("type")
        # Other dicts map the names of fields to schemas, and a field may be named "type".
        is_schema = type(kind) is str
        # A copy: reading a default may run any code.
        for name, value in list(part.items()):
            if type(value) in _PARTS and not (is_schema and name in _NO_SCHEMAS):
                adapted = self.adapted(value)
                if adapted is not value:
                    changed[name] = adapted
        if not is_schema:
            pass
        elif kind == "default":
            decode_in_place(part.get("default"))
            factory = part.get("default_factory")
            if factory is not None and not isinstance(factory, AdaptedFunction):
                changed["default_factory"] = AdaptedFunction(factory, self._is_active)
        elif kind == "computed-field":
            is_excluded = part.get(_EXCLUDE_IF)
            is_scalar = part["return_schema"]["type"] in SCALARS
            if _CAN_EXCLUDE and not is_scalar and not isinstance(is_excluded, _IsExcluded):
                changed[_EXCLUDE_IF] = _IsExcluded(is_excluded, self._is_active)
        elif kind.startswith("function-"):
            function = part["function"]
            # A validator has a dict.
            is_validator = type(function) is dict
            if isinstance(function["function"] if is_validator else function, AdaptedFunction):
                pass
            elif is_validator:
                made = AdaptedFunction(function["function"], self._is_active)
                changed["function"] = {**function, "function": made}
                if kind == "function-wrap":
                    inner = changed.get("schema", part["schema"])
                    changed["schema"] = self._decoding_before(inner)
            elif kind == "function-wrap":
                # A field serializer gets the model as its first argument.
                position = 1 + bool(part.get("is_field_serializer"))
                changed["function"] = AdaptedWrapSerializer(function, self._is_active, position)
            else:
                changed["function"] = AdaptedSerializer(function, self._is_active)
        return {**part, **changed} if changed else part

    def _decoding_before(self, schema: Any) -> Any:
        function = {"type": "no-info", "function": _Decoding(self._is_active)}
        return {"type": "function-before", "function": function, "schema": schema}


class _SchemaSeam(CallSeam):
    """The seam of the construction of a class of pydantic-core, from a schema."""

    def __init__(self, path: str) -> None:
        super().__init__("pydantic_core", path, _make, when=When(always=True))

    def install(self, is_active: _IsActive) -> None:
        self._about = is_active
        super().install(is_active)
        forget_all()


def _make(is_active: _IsActive, wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    made = wrapped(*_with_adapted(args, is_active), **kwargs)
    forget(made)
    return made


def _with_adapted(args: tuple[Any, ...], is_active: _IsActive) -> tuple[Any, ...]:
    """Return the arguments of a construction with the schema, their first one, adapted."""
    if args and type(args[0]) is dict:
        return _Adapting(is_active).adapted(args[0]), *args[1:]
    return args


class _StandsFor(type):
    """The class of a class that makes instances of another one."""

    _original: Any
    _make: Callable[..., Any]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._make(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls._original)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._original, name)


def _replacing(module: str, path: str) -> Seam:
    """Return the seam of the name by which a module of pydantic calls a class of pydantic-core."""

    def replace(original: Any, is_active: _IsActive) -> Any:
        def make(*args: Any, **kwargs: Any) -> Any:
            return original(*(_with_adapted(args, is_active) if is_active() else args), **kwargs)

        # A class, because pydantic tests for instances of it.
        namespace = {
            "__module__": module,
            "__qualname__": original.__qualname__,
            "__doc__": original.__doc__,
            "_original": original,
            "_make": staticmethod(make),
        }
        return _StandsFor(original.__name__, (), namespace)

    return Seam(module, path, replace)


SEAMS: tuple[Seam, ...] = (
    (_SchemaSeam("SchemaSerializer.__new__"), _SchemaSeam("SchemaValidator.__new__"))
    if SLOTS
    else (
        _replacing("pydantic._internal._dataclasses", "SchemaSerializer"),
        _replacing("pydantic._internal._model_construction", "SchemaSerializer"),
        _replacing("pydantic.type_adapter", "SchemaSerializer"),
        _replacing("pydantic.plugin._schema_validator", "SchemaValidator"),
    )
)
