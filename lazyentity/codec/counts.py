"""The counts of entities and properties, as a report needs them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Named:
    """One property of entities.

    Attributes:
        received: how many entities had it.
        read: how many times it was decoded by itself.
        whole: how many times it was decoded together with all others.
    """

    received: int = 0
    read: int = 0
    whole: int = 0

    @property
    def decoded(self) -> int:
        """How many times it was decoded."""
        return self.read + self.whole


@dataclass
class Counts:
    """The entities of one kind that one site received.

    Attributes:
        entities: how many became lazy entities.
        size: the bytes of the lazy entities.
        eager: how many became stock entities, with everything decoded.
        eager_size: the bytes of the stock entities.
        alive: how many lazy entities are still in memory.
        alive_size: the bytes of the lazy entities still in memory.
        byte_seconds: the bytes of each lazy entity times the seconds that it has been in memory.
        longest: the larger of two times, in seconds: the longest that an entity now gone was in
            memory, and the mean age of the entities still in memory, weighted by their bytes.
        has_no_options: whether they are in models, or of a client that ``wrap()`` does not take.
        names: the properties.
    """

    entities: int = 0
    size: int = 0
    eager: int = 0
    eager_size: int = 0
    alive: int = 0
    alive_size: int = 0
    byte_seconds: float = 0.0
    longest: float = 0.0
    has_no_options: bool = False
    names: dict[str, Named] = field(default_factory=dict)


def add(
    counts: Counts,
    entities: int,
    size: int,
    alive: int,
    alive_size: int,
    byte_seconds: float,
    alive_byte_seconds: float,
    longest: float,
) -> None:
    """Add the counts of a tally to others.

    Times in seconds are separate for entities that are gone and entities that are still alive.
    """
    counts.entities += entities
    counts.size += size
    counts.alive += alive
    counts.alive_size += alive_size
    counts.byte_seconds += byte_seconds + alive_byte_seconds
    # The age of each single entity that is alive is not known.
    mean_age = alive_byte_seconds / alive_size if alive_size else 0.0
    counts.longest = max(counts.longest, longest, mean_age)


def add_names(
    counts: Counts, received: dict[str, int], reads: dict[str, int], wholes: dict[str, int]
) -> None:
    """Add the counts of properties to others."""
    for numbers, attribute in ((received, "received"), (reads, "read"), (wholes, "whole")):
        for name, number in numbers.items():
            if number:
                named = counts.names.setdefault(name, Named())
                setattr(named, attribute, getattr(named, attribute) + number)
