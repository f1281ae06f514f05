"""The guards of the client and of its models, asked once for all entities of a response."""

from __future__ import annotations

from contextvars import ContextVar

from lazyentity.patches.appengine.seams import CLIENT
from lazyentity.patches.spec import ClientSpec

ANSWER: ContextVar[bool | None] = ContextVar("ANSWER", default=None)
"""Whether all guards are intact, while a response is converted; None for an entity without one."""


def are_intact() -> bool:
    """Whether the guards of all patched parts of the client are intact."""
    return all(part.guard.is_intact() for part in CLIENT.with_parts() if part.patch.active)


def is_intact(part: ClientSpec) -> bool:
    """Whether the guards of a part of the client are intact, or were for the whole response."""
    answer = ANSWER.get()
    return part.is_intact() if answer is None else answer
