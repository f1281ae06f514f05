"""Replacing attributes of other people's modules, and putting them back.

A :class:`Seam` is one attribute and its replacement; a :class:`Patch` is all the seams of a
client, replaced together or not at all. Originals are saved once and restored by identity. If
somebody else wrapped a replacement in the meantime, the wrapper stays, and the replacement
underneath calls the original.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from lazyentity._mode import is_eager
from lazyentity.codec.describing import safe_repr
from lazyentity.patches.guard import AttributePath, Guard
from lazyentity.patches.imports import wrapt


class ForkableLock:
    """A re-entrant lock that is new in each child.

    The thread that held it when the process was forked is not there in the child, and would never
    release it.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


class Seam(AttributePath):
    """One attribute of a client that is replaced while the client is patched.

    Args:
        module, path: as for :class:`~lazyentity.patches.guard.AttributePath`.
        replace: called with the original and with a function that says whether the patch is active;
            returns the replacement. An inactive replacement must do what the original does.
    """

    def __init__(
        self, module: str, path: str, replace: Callable[[Any, Callable[[], bool]], Any]
    ) -> None:
        super().__init__(module, path)
        self.original: Any = None
        self._replace = replace

    def is_installed(self) -> bool:
        """Whether the replacement was put in place, and not taken away since."""
        return self.replacement is not None

    def is_wrapped(self, current: Any) -> bool:
        """Whether ``current``, found at the seam, wraps the replacement."""
        return current is not self.replacement and _wraps(current, self.replacement)

    def resolve(self) -> Any:
        """Return the value of the attribute now, which must not be inherited.

        Raises:
            AttributeError, ImportError: if there is no such attribute, or only an inherited one.
        """
        parent, attribute, current = wrapt().resolve_path(self.module, self.path)
        if attribute not in vars(parent):
            raise AttributeError(f"{safe_repr(parent)} has no attribute {attribute!r} of its own")
        return current

    def install(self, is_active: Callable[[], bool]) -> None:
        """Put the replacement in place, unless it still stands there under somebody's wrapper."""
        parent, attribute, current = wrapt().resolve_path(self.module, self.path)
        if self.replacement is not None and _wraps(current, self.replacement):
            return
        replacement = self._replace(current, is_active)
        before = self.original, self.replacement
        # First: a guard may find it at once, in another thread, and remembers whose it is.
        self.original, self.replacement = current, replacement
        try:
            wrapt().apply_patch(parent, attribute, replacement)
        except BaseException:
            self.original, self.replacement = before
            raise

    def remove(self) -> None:
        """Put the original back, unless somebody else replaced the replacement."""
        if self.replacement is None:
            return
        parent, attribute, current = wrapt().resolve_path(self.module, self.path)
        if current is self.replacement:
            wrapt().apply_patch(parent, attribute, self.original)
            self.replacement = None


class EitherSeam(Seam):
    """The first of two seams that is there: versions of a client differ in what they have.

    Args:
        newer: the seam of later versions.
        older: the seam of the versions that lack the first.
    """

    def __init__(self, newer: Seam, older: Seam) -> None:
        super().__init__(newer.module, newer.path, newer._replace)
        self._newer, self._older = newer, older

    def resolve(self) -> Any:
        """As :meth:`Seam.resolve`, of the seam that is there, which this one then stands for."""
        if not self.is_installed():
            try:
                self._newer.resolve()
                chosen = self._newer
            except (AttributeError, ImportError):
                chosen = self._older
            self.module = self.origin = chosen.module
            self.path, self._replace = chosen.path, chosen._replace
        return super().resolve()


def _wraps(outer: Any, inner: Any) -> bool:
    """Whether ``outer`` is ``inner``, or a wrapper of it with the usual ``__wrapped__``."""
    seen: set[int] = set()
    while outer is not None and id(outer) not in seen:
        if outer is inner:
            return True
        seen.add(id(outer))
        if isinstance(outer, property):
            outer = outer.fget
            inner = inner.fget if isinstance(inner, property) else inner
        else:
            outer = getattr(outer, "__wrapped__", None)
    return False


class Patch:
    """The seams of a client.

    Args:
        seams: the attributes to replace.
        uses: the other private names of the client that the replacements use, by module: dotted
            paths of functions, classes, and of attributes of a class or of its instances.
        guard: of the client. It says which seams are left as they are.

    Attributes:
        active: whether the replacements do their work, and not that of the originals.
        eager: whether reads return stock entities, or stock models, while it is active.
        is_lazy: whether it is active and not eager. Pages ask at each item.
    """

    def __init__(
        self,
        seams: Sequence[Seam],
        uses: Mapping[str, Sequence[str]] | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.seams = tuple(seams)
        self._set(active=False, eager=False)
        self._uses = uses or {}
        self._guard = guard or Guard()

    def _set(self, *, active: bool, eager: bool) -> None:
        self.active = active
        self.eager = eager
        self.is_lazy = active and not eager

    def set_eager(self, eager: bool) -> None:
        """Choose what reads return while the patch is active."""
        self._set(active=self.active, eager=eager)

    def gives_stock(self) -> bool:
        """Whether a read that is made now gives stock objects, inside ``eager()`` too."""
        return self.eager or is_eager()

    def check(self) -> None:
        """Look up everything that is replaced or used. Nothing is touched.

        Raises:
            AttributeError, ImportError: if the client lacks something.
        """
        for seam in self.seams:
            seam.resolve()
        for name, paths in self._uses.items():
            module = importlib.import_module(name)
            for path in paths:
                _require(module, path)

    def apply(self) -> None:
        """Install every seam, or none, and have the replacements do their work.

        Raises:
            Exception: any, if the replacements are not made for this version of the client.
        """
        self.install()
        self._set(active=True, eager=self.eager)

    def install(self) -> None:
        """Install every seam, or none. Inactive replacements do what the originals do.

        Raises:
            Exception: any, if the replacements are not made for this version of the client.
        """
        if self.active:
            return
        # Nothing is replaced, not even for a moment, if something is missing.
        self.check()
        # Replacements ask at each call, and so in C.
        is_active = functools.partial(getattr, self, "active")
        left_alone = self._guard.left_alone()
        installed: list[Seam] = []
        try:
            for seam in self.seams:
                if seam not in left_alone:
                    seam.install(is_active)
                    installed.append(seam)
        except BaseException:
            for seam in reversed(installed):
                seam.remove()
            raise

    def revert(self) -> None:
        """Put back every original; replacements that were wrapped meanwhile call theirs."""
        self._set(active=False, eager=False)
        for seam in self.seams:
            seam.remove()


def _require(module: Any, path: str) -> None:
    """Check that a module has an attribute at a dotted path.

    Raises:
        AttributeError: if it has none. An attribute of instances counts if a method of the class,
            or of a base class, names it.
    """
    holder = module
    for name in path.split("."):
        if hasattr(holder, name):
            holder = getattr(holder, name)
        elif isinstance(holder, type) and name in _names_in_methods(holder):
            return
        else:
            raise AttributeError(f"{module.__name__} has no {path}")


@functools.cache  # of the few classes of the clients, at every patch
def _names_in_methods(kind: type) -> set[str]:
    # Copied: unwrapping can run code, and another thread can add to a class.
    functions = (
        inspect.unwrap(each) for base in kind.__mro__ for each in list(vars(base).values())
    )
    return {
        name
        for function in functions
        if isinstance(function, FunctionType)
        for name in function.__code__.co_names
    }


def replacing(module: str, name: str) -> Callable[[Any, Callable[[], bool]], Any]:
    """Return the ``replace`` of a :class:`Seam`: a function of ours makes the replacement.

    Args:
        module: within ``lazyentity.patches``. It may import the client, and so is imported no
            earlier than the client is patched.
        name: of the function, which is called with the arguments of ``replace``.
    """
    return lambda original, is_active: ours(module, name)(original, is_active)


def calling(module: str, name: str) -> Callable[[Any, Callable[[], bool]], Any]:
    """Return the ``replace`` of a :class:`Seam`: the replacement calls a function of ours.

    That function gets the original and then the arguments. It is named as for :func:`replacing`.
    """

    def replace(original: Any, is_active: Callable[[], bool]) -> Any:
        function = ours(module, name)

        @functools.wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            if is_active():
                return function(original, *args, **kwargs)
            return original(*args, **kwargs)

        return replacement

    return replace


def ours(module: str, name: str) -> Any:
    """Return a function of ``lazyentity.patches``, imported now."""
    return getattr(importlib.import_module(f"lazyentity.patches.{module}"), name)


def namespaces() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names and the namespaces of the loaded modules, but for those of lazyentity."""
    # Copied at once: other threads may be importing.
    for name, module in list(sys.modules.items()):
        namespace = getattr(module, "__dict__", None)
        if type(namespace) is dict and name.partition(".")[0] != __name__.partition(".")[0]:
            yield name, namespace
