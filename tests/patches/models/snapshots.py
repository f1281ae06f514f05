"""Models as plain structures that compare strictly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_DESCRIBED_APART = ("_values", "_properties")


def model_form(entity: Any, snapshot: Callable[[Any], Any], described: Callable[[Any], Any]) -> Any:
    """Return a model in a form that is equal only to that of an indistinguishable model.

    Args:
        entity: the model.
        snapshot: gives that form of the values it has.
        described: gives that form of the properties of a model that has others than its class.
    """
    kind = type(entity)
    return {
        "type": kind,
        "properties": None if entity._properties is kind._properties else described(entity),
        "values": snapshot(entity._values),
        "attributes": {
            name: snapshot(value)
            for name, value in vars(entity).items()
            if name not in _DESCRIBED_APART
        },
    }
