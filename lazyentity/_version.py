"""The version, and the supported Pythons; setup.py and CI read both from here."""

from __future__ import annotations

from typing import Final

__version__ = "0.1.0"

PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14", "3.15")
"""The supported versions of CPython, oldest first. CI runs on those that it finds."""
