"""The one guard of a client: the names that its fast paths go past."""

from __future__ import annotations

import os
import sys
from abc import ABCMeta
from collections.abc import Iterable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

from lazyentity._environment import native_without_client
from lazyentity.codec.describing import describe_type, safe_str
from lazyentity.patches.imports import wrapt

# By the exact types of methods and properties: the attribute with the function.
_FUNCTION = {
    MethodType: "__func__",
    classmethod: "__func__",
    staticmethod: "__func__",
    property: "fget",
}

# Another one may run code.
_METACLASSES = (type, ABCMeta)


class AttributePath:
    """One attribute of a client.

    Args:
        module: name of the module that holds the attribute.
        path: dotted path of the attribute within the module.
        origin: name of the module that defines the value, if another package does.

    Attributes:
        replacement: our own, put in its place, and not taken away since; None without one.
    """

    def __init__(self, module: str, path: str, origin: str = "") -> None:
        self.module = module
        self.path = path
        self.origin = origin or module
        self.replacement: Any = None

    def __str__(self) -> str:
        return f"{self.module}.{self.path}"

    def current(self) -> Any:
        """Return the value of the attribute now.

        Raises:
            AttributeError, ImportError: if there is no such attribute.
        """
        return wrapt().resolve_path(self.module, self.path)[2]

    def namespace(self) -> tuple[Mapping[str, Any], str]:
        """Return the namespace that holds the attribute if it is not inherited, and its name.

        Of a class that a version of the client lacks, the name of the class and its module.

        Raises:
            KeyError: if there is no such module.
        """
        holder: Any = sys.modules[self.module]
        *outer, name = self.path.split(".")
        for each in outer:
            if not hasattr(holder, each):
                return vars(holder), each
            holder = getattr(holder, each)
        return vars(holder), name


def paths_of(names: Mapping[str, Iterable[str]]) -> list[AttributePath]:
    """Return the attributes at dotted paths, given by module."""
    return [AttributePath(module, path) for module, paths in names.items() for path in paths]


class Guard:
    """The names of a client that its fast paths go past.

    A fast path asks :meth:`is_intact` once for each call that sends an RPC or that converts a
    message. If a name has somebody else's value, that call takes the client's own code from the
    first step to the last. Whether the value was replaced before ``patch()`` or after it makes no
    difference.

    The client's own values are a function that a module of its package defines, a class of its
    package, and the replacement that ``patch()`` put there. A name that a version of the client
    lacks, or that a class inherits, is to stay so.

    Args:
        names: the attributes: functions, classes, and methods or properties of classes. A
            :class:`~lazyentity.patches.registry.Seam` is one whose replacement is known.
        entries: seams that nothing goes past but their own replacements. Somebody else's wrapper
            may stand around the replacement, and not beneath it.
    """

    def __init__(
        self, names: Iterable[AttributePath] = (), entries: Iterable[AttributePath] = ()
    ) -> None:
        self.names = tuple(names)
        self.entries = tuple(entries)
        self._known: tuple[_Known, bool] | None = None
        self._are_as_known = _are_as_known

    def is_intact(self) -> bool:
        """Whether every name has the client's own value. Compares by identity; runs no code."""
        known = self._known
        # Both answers are remembered: calls that are not lazy take no longer than by the client.
        if known is not None and self._are_as_known(*known[0]):
            return known[1]
        return not self.foreign()

    def foreign(self) -> list[AttributePath]:
        """Return the names that somebody else replaced; remember all values, and that."""
        foreign, known = _foreign(self.names)
        self._known = known, not foreign
        if (native := native_without_client()) is not None:
            # In half the time: entity_to_protobuf() and its opposite compare for each entity. The
            # import of this module loads no backend.
            self._are_as_known = native.are_as_known
        return foreign

    def left_alone(self) -> list[AttributePath]:
        """Return the names and entries that somebody else replaced: ``patch()`` leaves them."""
        return self.foreign() + _foreign(self.entries)[0]


_Namespace = Mapping[str, Any]
_Known = tuple[tuple[tuple[_Namespace, str, Any], ...], tuple[tuple[_Namespace, str], ...]]
"""The values by namespace and name, and the names that no namespace has."""


def _foreign(paths: Iterable[AttributePath]) -> tuple[list[AttributePath], _Known]:
    foreign: list[AttributePath] = []
    values: list[tuple[_Namespace, str, Any]] = []
    absent: list[tuple[_Namespace, str]] = []

    def look_at(namespace: _Namespace, name: str) -> Any:
        value = namespace.get(name)
        if value is None:
            absent.append((namespace, name))
        else:
            values.append((namespace, name, value))
        return value

    for path in paths:
        try:
            value = look_at(*path.namespace())
            if value is None or is_own(path, value):
                continue
            # The replacement may be taken back where the name, or its module, is found.
            places = [[path.module, *path.path.split(".")], [path.origin]]
            if type(value) in _METACLASSES:
                places.append([f"{value.__module__}", *value.__qualname__.split(".")])
        except KeyError:
            places = [[path.module]]
        foreign.append(path)
        for names in places:
            namespace: _Namespace = sys.modules
            for name in names:
                namespace = getattr(look_at(namespace, name), "__dict__", {})
    return foreign, (tuple(values), tuple(absent))


def _are_as_known(values: Any, absent: Any) -> bool:
    # For each call: get() and all() would take longer.
    try:
        for namespace, name in absent:
            if name in namespace:
                return False
        for namespace, name, value in values:
            if namespace[name] is not value:
                return False
    except KeyError:
        return False
    return True


def is_own(path: AttributePath, value: Any) -> bool:
    """Whether a value is of the client's package, or the replacement by ``patch()``.

    Args:
        path: the attribute that has the value.
        value: a function, or a method or property that has one; a class; or anything else.
    """
    function = _function_of(value)
    if path.replacement is not None and function is _function_of(path.replacement):
        return True
    if type(function) is FunctionType:
        # By its file: functools.wraps gives a wrapper the module's name of what it wraps.
        file = getattr(sys.modules.get(path.origin), "__file__", None) or ""
        # A Path takes ten times as long, at each of the names.
        folder = file[: file.rfind(os.sep) + 1]
        return folder != "" and function.__code__.co_filename.startswith(folder)
    if type(function) not in _METACLASSES:
        return False
    package = path.origin.rpartition(".")[0]
    if not f"{function.__module__}.".startswith(f"{package}."):
        return False
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    # A subclass that took the place of the class in its own module may have its names, too.
    names = function.__module__, function.__qualname__
    return found is function and all(
        (base.__module__, base.__qualname__) != names for base in function.__mro__[1:]
    )


def _function_of(found: Any) -> Any:
    """Return the function of a method or property; anything else as it is."""
    name = _FUNCTION.get(type(found))
    return found if name is None else getattr(found, name)


def name_of(value: Any) -> str:
    """Return the name of a function, class or module, by which its author recognises it.

    That is, of a wrapper, the function that wraps; of another object, its class.
    """
    function = _function_of(value)
    # By types: wrappers have the attributes of what they wrap.
    kind = type(function)
    if issubclass(kind, wrapt().FunctionWrapper):
        return name_of(function._self_wrapper)
    if kind is FunctionType:
        return f"{safe_str(function.__globals__.get('__name__'))}.{function.__code__.co_name}"
    if kind is ModuleType:
        return safe_str(function.__name__)
    if issubclass(kind, type):
        return f"{function.__module__}.{function.__qualname__}"
    return describe_type(function)
