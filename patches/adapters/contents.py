"""Objects of libraries that hold values in C: where entities in them are found."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from wrapt import register_post_import_hook

from lazyentity.search import CONTENTS


@functools.cache
def register() -> None:
    """Have the search for entities look into such objects, once their library is imported."""
    for module, name, contents in (
        ("numpy", "ndarray", _objects_of),
        ("pandas.core.generic", "NDFrame", _objects_of_frame),
        # The arguments of dataclasses and of functions with validate_call.
        ("pydantic_core", "ArgsKwargs", lambda given: (given.args, given.kwargs)),
    ):
        register_post_import_hook(functools.partial(_register, name, contents), module)


def _register(name: str, contents: Any, module: Any) -> None:
    # An application can have a module of its own by that name.
    kind = getattr(module, name, None)
    if isinstance(kind, type):
        CONTENTS[kind] = contents


def _objects_of_frame(frame: Any) -> Iterable[Any]:
    # Making a Series of each column would take a hundred times as long.
    return [held for array in frame._mgr.arrays for held in _objects_of(array)]


def _objects_of(array: Any) -> Iterable[Any]:
    return array.ravel().tolist() if array.dtype == object else ()
