"""Serialised entities and responses to start from: the corpus, and changes to it."""

from __future__ import annotations

import functools
import random

from tests.fuzz import mutation
from tests.fuzz.mutation import blindly, mutated
from tests.fuzz.seeds import CORPUS, RESPONSES
from tests.support.snapshots import Raised, outcome
from tests.support.stock import stock_entity
from tests.support.strategies.samples import PLAIN, RICH

_LARGEST = 4096


@functools.cache
def entities() -> list[bytes]:
    """Return the entities of the corpus that the stock client reads, without a patch."""
    raws = sorted({PLAIN, RICH, *(path.read_bytes() for path in CORPUS.iterdir())})
    return [raw for raw in raws if not isinstance(outcome(stock_entity, raw), Raised)]


@functools.cache
def with_varint_forms() -> list[bytes]:
    """Return entities and responses with a tag, a length or a number in each other form."""
    return [form for raw in (PLAIN, *RESPONSES) for form in mutation.with_varint_forms(raw)]


def changed(raw: bytes, chance: random.Random, changes: int) -> bytes:
    """Return ``raw`` with some changes."""
    for _ in range(changes):
        raw = mutated(raw, _LARGEST, chance, blindly(chance))
    return raw
