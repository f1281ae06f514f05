"""Parts of a pipeline on their way to the workers, and the patch that they bring along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from apache_beam.internal import cloudpickle_pickler

from lazyentity.patches import patch, patched
from lazyentity.patches.clients import ClientName

_CLIENTS: Final[tuple[ClientName, ...]] = ("datastore", "beam")


def activate() -> None:
    """Patch this process, unless it is patched already."""
    missing = [name for name in _CLIENTS if name not in patched()]
    if missing:
        patch(*missing)


def shipped(module: str, name: str, *arguments: Any) -> Any:
    """Return the result of a ``__reduce__``; unpickling it calls a function of ours in the worker.

    The call patches the worker's process first. Without lazyentity, unpickling raises an error that
    says what to install.

    Args:
        module: of the function.
        name: of the function.
        arguments: passed to the function.
    """
    return cloudpickle_pickler.loads, (
        cloudpickle_pickler.dumps(_Call(_caller(), (module, name, *arguments))),
    )


class _Call:
    """Pickles as a call of a function.

    Args:
        function: it is pickled with its code if it cannot be imported by its name.
        arguments: of the function.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function = function
        self._arguments = arguments

    def __reduce__(self) -> Any:
        return self._function, self._arguments


def _caller() -> Callable[..., Any]:
    # Made in a function, so that it is pickled with its code: a worker may have no lazyentity.
    def call(module: str, name: str, *arguments: Any) -> Any:
        import importlib

        try:
            function = getattr(importlib.import_module(module), name)
            workers = importlib.import_module("lazyentity.patches.beam.workers")
        except ImportError as error:
            raise ImportError(
                "a worker of this pipeline cannot import lazyentity, which reads from Datastore; "
                "install it there, in the version of the main program, and 'apache-beam[gcp]' "
                f"({error})"
            ) from error
        workers.activate()
        return function(*arguments)

    return call
