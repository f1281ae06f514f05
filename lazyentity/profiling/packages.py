"""The packages that a profile passes over, to find the code that received an entity."""

from __future__ import annotations

from typing import Final

CLIENT_PACKAGES: Final[set[str]] = {"google"}
"""The top-level packages of the clients. They receive entities for an application."""
