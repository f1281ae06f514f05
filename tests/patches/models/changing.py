"""Properties that run code while a model is written, which changes the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ACTS: list[Callable[[], object]] = []

Change = Callable[[Any], object]


def act() -> None:
    """Do the change that waits: to be called by a property when it is written."""
    while _ACTS:
        _ACTS.pop()()


def assign(model: Any, **values: Any) -> None:
    """Set attributes."""
    for name, value in values.items():
        setattr(model, name, value)


def delete(model: Any, *names: str) -> None:
    """Delete attributes."""
    for name in names:
        delattr(model, name)


CHANGES: dict[str, Change] = {
    "assigns": lambda one: assign(one, balance=10, limit=20),
    "reads": lambda one: (one.balance, one.limit, one.owner),
    "deletes": lambda one: delete(one, "balance", "limit"),
    "replaces": lambda one: setattr(one, "tags", ["c"]),
    "changes a list": lambda one: one.tags.append("c"),
    "clears": lambda one: one._values.clear(),
}
"""Changes of a model with these properties."""


def swap(model: Any) -> None:
    """Put a property in the place of another one, so that there are as many as before."""
    del model.limit
    model.later = 5


def writing_and_changing(
    written: Callable[[Any], Any], change: Change, prepare: Change = lambda one: None
) -> Callable[[Any], Any]:
    """Return a function that writes a model, of which a property calls :func:`act`.

    Args:
        written: writes a model.
        change: done to the model meanwhile.
        prepare: done to the model before.
    """

    def operation(model: Any) -> Any:
        prepare(model)
        _ACTS.append(lambda: change(model))
        try:
            return written(model)
        finally:
            assert not _ACTS, "the property was not written"

    return operation
