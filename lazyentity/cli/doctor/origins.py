"""The origin of a client's attribute: the client itself, or somebody who replaced it."""

from __future__ import annotations

from types import FunctionType, MethodType, ModuleType
from typing import Any

from lazyentity.codec.describing import safe_str
from lazyentity.patches.upstream import AttributePath
from lazyentity.patches.wrapt_parts import FunctionWrapper


def is_clients(attribute: AttributePath, value: Any) -> bool:
    """Say whether the client itself defines the value that was found at an attribute path.

    Args:
        attribute: an attribute of the client.
        value: the value of the attribute; None if there is none.
    """
    if value is None:
        return True
    defined = definer(value)
    package = ".".join(attribute.module.split(".")[:2])
    return defined == package or defined.startswith(f"{package}.")


def definer(value: Any) -> str:
    """Return the name of the module that defines a function, a property or a class.

    For a wrapper, that is the module that defines the wrapper, not the wrapped function.
    """
    function = _function(value)
    if type(function) is FunctionType:
        return safe_str(function.__globals__.get("__name__", "?"))
    if type(function) is ModuleType:
        return function.__name__
    kind = type(function)
    return safe_str(function.__module__ if issubclass(kind, type) else kind.__module__)


def who(value: Any) -> str:
    """Return the name of a replacement, by which its user recognises it."""
    function = _function(value)
    if type(function) is FunctionType:
        return f"{definer(function)}.{function.__code__.co_name}"
    if type(function) is ModuleType:
        return function.__name__
    if issubclass(type(function), type):
        return f"{function.__module__}.{function.__qualname__}"
    return f"an instance of {type(function).__module__}.{type(function).__qualname__}"


def _function(value: Any) -> Any:
    """Return the function of a property, a method or a wrapper; anything else as it is."""
    # Wrappers have the attributes of what they wrap: types tell them apart.
    kind = type(value)
    if kind is property:
        return _function(value.fget)
    if kind in (classmethod, staticmethod, MethodType):
        return _function(value.__func__)
    if issubclass(kind, FunctionWrapper):
        return _function(value._self_wrapper)
    return value
