"""Core schemas of pydantic: the results of the application's functions in them are decoded.

An entity that a validator, serializer or default factory returns is not among the arguments of the
adapted call. So validators and serializers are built of schemas in which each such function is an
:class:`AdaptedFunction`. The application's schemas stay as they are: the changed parts are copies.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from lazyentity.decoding import decode_in_place, decoded_in_place, is_plain
from lazyentity.patches.adapters.calls import standing_for
from lazyentity.patches.registry import Seam

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


def _is_model_given(returned: Any, args: tuple[Any, ...]) -> bool:
    """Say whether a validator returns the model it was given, which pydantic takes for valid."""
    return bool(args) and returned is args[0] and hasattr(type(returned), "__pydantic_fields_set__")


class AdaptedFunction:
    """A function that pydantic-core calls; its result is decoded.

    It has the attributes of the function: pydantic-core puts its name into errors. A pickle or copy
    of it is the function itself.
    """

    __slots__ = ("_function", "_is_active")

    def __init__(self, function: Callable[..., Any], is_active: _IsActive) -> None:
        self._function = function
        self._is_active = is_active

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        returned = self._function(*args, **kwargs)
        if is_plain(returned) or _is_model_given(returned, args) or not self._is_active():
            return returned
        return decoded_in_place(returned, validating=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __repr__(self) -> str:
        return repr(self._function)

    def __reduce__(self) -> Any:
        return operator.itemgetter(0), ((self._function,),)


class AdaptedWrapFunction(AdaptedFunction):
    """A function that gets a handler; the value that it passes to the handler is decoded, too."""

    __slots__ = ("_position",)

    def __init__(self, function: Callable[..., Any], is_active: _IsActive, position: int) -> None:
        super().__init__(function, is_active)
        self._position = position

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        position = self._position
        if len(args) > position:
            handler = _Handler(args[position], self._is_active)
            args = (*args[:position], handler, *args[position + 1 :])
        return super().__call__(*args, **kwargs)


class _Handler:
    """The handler of a function, which gets its first argument decoded."""

    __slots__ = ("_handler", "_is_active")

    def __init__(self, handler: Callable[..., Any], is_active: _IsActive) -> None:
        self._handler = handler
        self._is_active = is_active

    def __call__(self, value: Any, /, *args: Any) -> Any:
        __tracebackhide__ = True
        if not is_plain(value) and self._is_active():
            value = decoded_in_place(value)
        return self._handler(value, *args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def __repr__(self) -> str:
        return repr(self._handler)


class _Adapting:
    """Puts adapted functions into one schema."""

    def __init__(self, is_active: _IsActive) -> None:
        self._is_active = is_active
        # By id, with the original: a part that is in several places stays one part.
        self._adapted: dict[int, tuple[Any, Any]] = {}

    def adapted(self, part: Any) -> Any:
        """Return a part of a schema with adapted functions; the part itself, if it has none."""
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
        # Other dicts are of schemas by the names of fields, and one may have the name "type".
        is_schema = type(kind) is str
        for name, value in part.items():
            if type(value) in _PARTS and not (is_schema and name in _NO_SCHEMAS):
                adapted = self.adapted(value)
                if adapted is not value:
                    changed[name] = adapted
        if not is_schema:
            pass
        elif kind == "default":
            decode_in_place(part.get("default"))
            if "default_factory" in part:
                changed["default_factory"] = self._function(part["default_factory"], None)
        elif kind.startswith("function-"):
            function = part["function"]
            if type(function) is dict:
                # A validator, which gets the value and then its handler.
                position = 1 if kind == "function-wrap" else None
                made = self._function(function["function"], position)
                changed["function"] = {**function, "function": made}
            else:
                # That of a field gets the model first.
                position = 1 + bool(part.get("is_field_serializer"))
                made = self._function(function, position if kind == "function-wrap" else None)
                changed["function"] = made
        return {**part, **changed} if changed else part

    def _function(self, function: Any, handler: int | None) -> Any:
        if isinstance(function, AdaptedFunction):
            return function
        if handler is None:
            return AdaptedFunction(function, self._is_active)
        return AdaptedWrapFunction(function, self._is_active, handler)


_last: tuple[Any, Any] = (None, None)


def _adapted(schema: Any, is_active: _IsActive) -> Any:
    global _last
    # A validator and then a serializer are made of each schema, and are active together.
    known, adapted = _last
    if known is not schema:
        adapted = _Adapting(is_active).adapted(schema)
        _last = schema, adapted
    return adapted


def adapting_schemas(module: str, path: str) -> Seam:
    """Return the seam of a class of pydantic-core that pydantic makes instances of from schemas.

    Args:
        module: name of the module that calls the class.
        path: name of the class in that module.
    """

    def replace(original: Any, is_active: _IsActive) -> Any:
        def make(schema: Any, *args: Any, **kwargs: Any) -> Any:
            if is_active() and type(schema) is dict:
                schema = _adapted(schema, is_active)
            return original(schema, *args, **kwargs)

        # A class, for pydantic asks whether something is an instance.
        return standing_for(module, original, make)

    return Seam(module, path, replace)
