"""Hypothesis strategies for serialised Datastore messages, at the level of their bytes."""

from __future__ import annotations

from tests.support.strategies.entities import Grammar, entities

__all__ = ["Grammar", "entities"]
