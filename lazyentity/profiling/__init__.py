"""The profile: how much of the entities that a program reads it decodes, and where.

:mod:`~lazyentity.profiling.collection` starts and stops, :mod:`~lazyentity.profiling.counters`
counts what the backends and clients tell it, and :mod:`~lazyentity.profiling.report` shows it.
"""

from __future__ import annotations

from typing import Final

CLIENT_PACKAGES: Final[set[str]] = {"google"}
"""The top-level packages of the clients, whose lines are not the application's."""
