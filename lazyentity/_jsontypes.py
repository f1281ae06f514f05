"""The bounds of values that JSON has types for, for both backends and for packed documents."""

from __future__ import annotations

from typing import Final

MAX_CONTAINERS: Final = 200
"""How deep dicts and lists may be inside of each other."""

RESERVED: Final = "$"
"""The key that marks dicts with another meaning than their own."""
