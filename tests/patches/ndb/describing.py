"""Models as texts, which compare between processes, and what models are made of.

Imports nothing of lazyentity: the process that stays stock imports this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from google.cloud import ndb

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_PROJECTION = re.compile(r"(?<=_projection=\()[^)]*(?=\))")


def text_of(value: Any) -> str:
    """Return the ``repr`` without the parts that stock ndb leaves to chance.

    These are the addresses of objects that have no other ``repr``, and the order of the names in a
    model's ``_projection``, which ndb takes from a protobuf map.
    """
    return _PROJECTION.sub(_sorted_names, _ADDRESS.sub("", repr(value)))


def _sorted_names(names: re.Match[str]) -> str:
    return ", ".join(sorted(names[0].split(", ")))


def models(value: Any) -> Iterator[Any]:
    """Give all models in ``value``, but not those inside models."""
    if isinstance(value, ndb.Model):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from models(part)


def storages(value: Any) -> set[str]:
    """Return the names of the classes of ``_values`` of all models in ``value``."""
    return {type(entity._values).__name__ for entity in models(value)}
