"""Changes of serialised entities that another program could make, whatever the message."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn


def change_key(draw: DrawFn, message: Any, element: Any, kind: str) -> None:
    """Remove or change the key of an entity, or make it incomplete.

    Args:
        draw: of hypothesis.
        message: the entity.
        element: the last element of the key's path.
        kind: the name of the field of such an element that has the kind.
    """
    match draw(st.sampled_from(["none", "kind", "partial"])):
        case "none":
            message.ClearField("key")
        case "kind":
            setattr(element, kind, draw(st.sampled_from(["Person", "Nobody", "Anything"])))
        case _:
            element.ClearField("id")
