"""Callables of libraries that decode the entities among their arguments.

Two ways to look for entities:

- *before* the call: needed wherever the library can go on with a sentinel and raise nothing;
- *on failure*: the call is made first, and repeated if it failed and an argument holds an entity.
  Only for calls that always fail on a sentinel, without side effects.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lazyentity.decoding import decode_in_place, decoded_in_place
from lazyentity.patches.registry import ClassSeam, Seam
from lazyentity.patches.wrapt_parts import FunctionWrapper, ObjectProxy, register_post_import_hook

_IsActive = Callable[[], bool]
"""A function that wrapt calls with the original, its instance and the arguments."""

# An application that imports an adapted library need not import the client.
register_post_import_hook(
    lambda _: importlib.import_module("lazyentity.patches.adapters.client"),
    "google.cloud.datastore",
)

Hooks = Mapping[str, int | None]
"""Parameters that take a function for values unknown to the library, with their positions."""


if TYPE_CHECKING:
    _FunctionWrapper = FunctionWrapper[Any, Any]
else:
    # wrapt 2.0 declares no parameters at run time.
    _FunctionWrapper = FunctionWrapper


class Adapted(_FunctionWrapper):
    """A proxy of a callable of a library. It is pickled by name, as functions and classes are."""

    def __reduce_ex__(self, protocol: Any) -> str:
        name: str = self.__wrapped__.__qualname__
        return name


def call_decoded(wrapped: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Decode the entities in the arguments, then call."""
    return wrapped(
        *[decoded_in_place(value) for value in args],
        **{name: decoded_in_place(value) for name, value in kwargs.items()},
    )


def before(_: Any, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Look for entities before the call, in the instance as well."""
    if instance is not None:
        decode_in_place(instance)
    return call_decoded(wrapped, args, kwargs)


def on_failure(hooks: Hooks, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Look for entities if the call failed; before it, if one of ``hooks`` is given."""
    for name, position in hooks.items():
        if kwargs.get(name) is not None or (position is not None and len(args) > position):
            return before(None, wrapped, instance, args, kwargs)
    try:
        return wrapped(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # raised again, unless it was about a sentinel
        failure = error
    try:
        if decode_in_place((instance, args, kwargs)):
            return wrapped(*args, **kwargs)
        raise failure
    finally:
        del failure


def seam(module: str, path: str, look: Callable[..., Any], about: Any = None) -> Seam:
    """Return the seam of one callable.

    Args:
        module: name of the module that the callable is an attribute of.
        path: dotted path of the callable in the module.
        look: :func:`before`, :func:`on_failure`, or a function of the same signature.
        about: the first argument of ``look``.
    """

    def replace(original: Any, is_active: _IsActive) -> Any:
        if isinstance(original, Adapted):
            # The same object by another name.
            return original

        def adapted(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            if not is_active():
                return wrapped(*args, **kwargs)
            return look(about, wrapped, instance, args, kwargs)

        return Adapted(original, adapted)

    return Seam(module, path, replace)


def seams(
    module: str, *paths: str, look: Callable[..., Any], about: Any = None
) -> tuple[Seam, ...]:
    """Return a seam for each of ``paths``; see :func:`seam`."""
    return tuple(seam(module, path, look, about) for path in paths)


class _Constructed(type):
    """The class of classes that make instances of another one, which cannot be subclassed."""

    _original: Any
    _make: Callable[..., Any]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._make(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls._original)

    def __subclasscheck__(cls, other: type) -> bool:
        return other is cls or issubclass(other, cls._original)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._original, name)


def standing_for(module: str, original: Any, make: Callable[..., Any]) -> Any:
    """Return a class that stands for ``original``: calling it calls ``make``.

    ``match``, ``isinstance()`` and pickles take it for a class, unlike a proxy.
    """

    def refuse(cls: Any, /, **_: Any) -> None:
        name = f"{original.__module__}.{original.__qualname__}"
        raise TypeError(f"type {name!r} is not an acceptable base type")

    namespace = {
        "__module__": module,
        "__qualname__": original.__qualname__,
        "__doc__": original.__doc__,
        "__init_subclass__": classmethod(refuse),
        "_original": original,
        "_make": staticmethod(make),
    }
    return _Constructed(original.__name__, (), namespace)


def constructor(module: str, path: str) -> Seam:
    """Return the seam of a class of C code that keeps the arguments of its constructor.

    Args:
        module: name of the module that the class is an attribute of.
        path: dotted path of the class in the module.
    """

    def replace(original: Any, is_active: _IsActive) -> Any:
        def make(*args: Any, **kwargs: Any) -> Any:
            if is_active():
                return call_decoded(original, args, kwargs)
            return original(*args, **kwargs)

        return standing_for(module, original, make)

    return Seam(module, path, replace)


def instances(
    module: str, path: str, methods: Mapping[str, Callable[..., Any]], about: Any = None
) -> Seam:
    """Return the seam of a class of C code whose instances are to be proxies.

    Args:
        module: name of the module that the class is an attribute of.
        path: dotted path of the class in the module.
        methods: by name, as ``look`` of :func:`seam`; they are called without an instance.
        about: the first argument of each of them.
    """

    def replace(original: Any, is_active: _IsActive) -> Any:
        def method(name: str, look: Callable[..., Any]) -> Any:
            def adapted(self: Any, /, *args: Any, **kwargs: Any) -> Any:
                wrapped = getattr(self.__wrapped__, name)
                if not is_active():
                    return wrapped(*args, **kwargs)
                return look(about, wrapped, None, args, kwargs)

            return adapted

        namespace = {name: method(name, look) for name, look in methods.items()}
        proxy = type(original.__name__, (ObjectProxy,), namespace)

        def make(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            return proxy(made) if is_active() else made

        return standing_for(module, original, make)

    return ClassSeam(module, path, replace)


def subclass(module: str, path: str, methods: Mapping[str, Callable[..., Any]]) -> Seam:
    """Return the seam of a class of C code that a subclass is to stand for.

    Instances of the class itself, made before, pass for instances of the subclass.

    Args:
        module: name of the module that the class is an attribute of.
        path: dotted path of the class in the module.
        methods: by name, as ``look`` of :func:`seam`; they are called without an instance.
    """

    def replace(original: Any, is_active: _IsActive) -> Any:
        def method(name: str, look: Callable[..., Any]) -> Any:
            wrapped = getattr(original, name)

            @functools.wraps(wrapped)
            def adapted(self: Any, /, *args: Any, **kwargs: Any) -> Any:
                bound = functools.partial(wrapped, self)
                if not is_active():
                    return bound(*args, **kwargs)
                return look(None, bound, None, args, kwargs)

            return adapted

        class Kind(type(original)):  # type: ignore[misc]  # a metaclass known at run time only
            def __instancecheck__(cls, instance: Any) -> bool:
                if cls is replacement:
                    return isinstance(instance, original)
                return bool(super().__instancecheck__(instance))

            def __subclasscheck__(cls, other: type) -> bool:
                if cls is replacement:
                    return issubclass(other, original)
                return bool(super().__subclasscheck__(other))

        namespace = {name: method(name, look) for name, look in methods.items()}
        namespace |= {
            "__slots__": (),
            "__doc__": original.__doc__,
            "__module__": original.__module__,
            "__qualname__": original.__qualname__,
        }
        replacement = Kind(original.__name__, (original,), namespace)
        return replacement

    return ClassSeam(module, path, replace)
