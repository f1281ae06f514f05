"""Callables of libraries that decode the entities among their arguments.

Two ways to look for entities:

- *before* the call: needed wherever the library can go on with a sentinel and raise nothing;
- *on failure*: the call is made first, and repeated if it failed and an argument holds an entity.
  Only for calls that always fail on a sentinel, without side effects.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import FunctionType, MethodType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from lazyentity._alive import are_bare, are_settled
from lazyentity._inplace import Replacement, When, replacement
from lazyentity.patches.adapters.functions import function_replacement
from lazyentity.patches.adapters.results import DecodingFunction, Hooks, with_decoding_hooks
from lazyentity.patches.registry import Seam
from lazyentity.patches.wrapt_parts import FunctionWrapper, register_post_import_hook, resolve_path
from lazyentity.search import decode_in_place, decoded_in_place

_IsActive = Callable[[], bool]
"""A function that wrapt calls with the original, its instance and the arguments."""

# An application that imports an adapted library need not import the client.
register_post_import_hook(
    lambda _: importlib.import_module("lazyentity.patches.adapters.client"),
    "google.cloud.datastore",
)

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
        # A copy: C code may have passed a dict that others have as well.
        **{name: decoded_in_place(value) for name, value in list(kwargs.items())},
    )


def before(hooks: Hooks | None, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Look for entities before the call, in the instance and the results of hooks as well."""
    return _before(are_settled, hooks, wrapped, instance, args, kwargs)


def deeply_before(hooks: Hooks | None, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """As :func:`before`, for a library that takes the items of iterators wherever they are."""
    return _before(are_bare, hooks, wrapped, instance, args, kwargs)


def _before(
    can_pass: Callable[[Any, Any], bool],
    hooks: Hooks | None,
    wrapped: Any,
    instance: Any,
    args: Any,
    kwargs: Any,
) -> Any:
    if hooks:
        # Also while no property is undecoded: a hook can make an entity.
        args, kwargs = with_decoding_hooks(hooks, args, kwargs)
    if can_pass(args, kwargs) and (instance is None or can_pass((instance,), None)):
        return wrapped(*args, **kwargs)
    if instance is not None:
        decode_in_place(instance)
    return call_decoded(wrapped, args, kwargs)


def decode_in_place_of(instance: Any, args: Any, kwargs: Any) -> bool:
    """Decode the entities in the arguments of a call that failed; say whether there are any."""
    return decode_in_place((instance, args, kwargs))


def on_failure(hooks: Hooks, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Look for entities if the call failed; before it, if one of ``hooks`` is given."""
    for name, position in hooks.items():
        if kwargs.get(name) is not None or (position is not None and len(args) > position):
            return before(hooks, wrapped, instance, args, kwargs)
    try:
        return wrapped(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # raised again, unless it was about a sentinel
        failure = error
    try:
        if decode_in_place_of(instance, args, kwargs):
            return wrapped(*args, **kwargs)
        raise failure
    finally:
        del failure


class CallSeam(Seam):
    """The seam of a callable of a library.

    A function or method stays the object that it is, wherever that is possible. Otherwise the
    attribute is replaced.

    Args:
        module, path: as for :class:`~lazyentity.patches.registry.Seam`.
        look: :func:`before`, :func:`on_failure`, or a function of the same signature.
        about: the first argument of ``look``.
        when: when ``look`` has to be called; by default, what a ``look`` of this module needs.
        is_flat: as for :class:`When`.
    """

    def __init__(
        self,
        module: str,
        path: str,
        look: Callable[..., Any],
        about: Any = None,
        *,
        when: When | None = None,
        is_flat: bool = False,
    ) -> None:
        super().__init__(module, path, self._wrapped)
        self._look = look
        self._about = about
        self._when = (_when(look, about) if when is None else when)._replace(is_flat=is_flat)
        self._in_place: Replacement | None = None

    def install(self, is_active: _IsActive) -> None:
        holder, name, current = resolve_path(self.module, self.path)
        made = replacement(holder, name)
        if made is None and vars(holder).get(name) is current:
            made = function_replacement(current)
        if made is None:
            # A constructor of C code has no replacement on the pure backend.
            if type(current) is not WrapperDescriptorType:
                super().install(is_active)
                if self.original is not None and self.original is self.replacement:
                    # The library imported the proxy by another name.
                    self.original = self.original.__wrapped__
            return
        look, about, is_method = self._look, self._about, isinstance(holder, type)

        def hook(original: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            # A function of Python's gets its instance as an argument.
            is_bound = is_method and instance is not None
            wrapped = MethodType(original, instance) if is_bound else original
            if not is_active():
                return wrapped(*args, **kwargs)
            return look(about, wrapped, None, args, kwargs)

        when = self._when
        if when.found is not None:
            when = when._replace(found=lambda *call: is_active() and decode_in_place_of(*call))
        if when.hooks and not is_method:
            when = when._replace(wrapped=DecodingFunction)
        made.install(hook, when)
        self._in_place = made

    def remove(self) -> None:
        if self._in_place is None:
            super().remove()
        else:
            self._in_place.remove()
            self._in_place = None

    def _wrapped(self, original: Any, is_active: _IsActive) -> Any:
        return _wrapper(self._look, self._about, original, is_active, self._when == When())


def _when(look: Callable[..., Any], about: Any) -> When:
    """Return when a function of this module, or another one, is needed for a call."""
    if look is on_failure:
        return When(found=decode_in_place_of, hooks=about)
    if look is before or look is deeply_before:
        return When(hooks=about or {}, is_deep=look is deeply_before)
    return When(is_deep=True)


_DEFAULTS = ("__defaults__", "__kwdefaults__")
_wrappers: WeakValueDictionary[int, Any] = WeakValueDictionary()


def _wrapper(look: Any, about: Any, original: Any, is_active: _IsActive, can_pass: bool) -> Any:
    if _wrappers.get(id(original)) is original:
        # The same object by another name.
        return original
    if isinstance(original, FunctionType):
        # The defaults are there for those who look: the replacement has no use for them.
        @functools.wraps(original, assigned=(*functools.WRAPPER_ASSIGNMENTS, *_DEFAULTS))
        def adapted(*args: Any, **kwargs: Any) -> Any:
            if (can_pass and are_settled(args, kwargs)) or not is_active():
                return original(*args, **kwargs)
            return look(about, original, None, args, kwargs)

        _wrappers[id(adapted)] = adapted
        return adapted

    def called(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        if (can_pass and are_settled(args, kwargs)) or not is_active():
            return wrapped(*args, **kwargs)
        return look(about, wrapped, instance, args, kwargs)

    made = Adapted(original, called)
    _wrappers[id(made)] = made
    return made


def seams(
    module: str,
    *paths: str,
    look: Callable[..., Any],
    about: Any = None,
    when: When | None = None,
    is_flat: bool = False,
) -> tuple[CallSeam, ...]:
    """Return a seam for each of ``paths``; see :class:`CallSeam`."""
    return tuple(CallSeam(module, path, look, about, when=when, is_flat=is_flat) for path in paths)
