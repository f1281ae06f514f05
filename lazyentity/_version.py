"""The one place that states the version; setup.py reads it from here."""

from __future__ import annotations

__version__ = "0.1.0"
