"""The counts of entities and properties, as a report needs them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

CLIENT_PACKAGES: Final[set[str]] = {"google"}
"""The top-level packages of the clients. They receive entities for an application."""

WRITTEN: Final = "written"
CHANGED: Final = "changed"
COPIED: Final = "copied or detached"
COLUMNS: Final = "read into columns"
COMPARED: Final = "compared"
FLAGS: Final = "asked for index flags or meanings"
NAMES: Final = "asked for names"
USES: Final = (WRITTEN, CHANGED, COPIED, COLUMNS, COMPARED, FLAGS, NAMES)
"""Uses of entities beside reading a property; one may imply those after it."""


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


class Model(NamedTuple):
    """A pydantic model that entities are validated as.

    Attributes:
        name: of the class.
        names: the names that it takes from an entity; None, if it may take any.
        are_fields: whether these are the names of its fields, without an alias.
    """

    name: str
    names: tuple[str, ...] | None
    are_fields: bool


@dataclass
class Line:
    """The operations of one sort at one site.

    Attributes:
        calls: how many there were.
        properties: how many properties they decoded.
        models: the models that the entities were validated as.
        validated: how many entities were validated as one of the models.
        taken: names that a model took from an entity.
        lacking: names that a model takes and one of its entities lacks.
        most: the largest number of properties that one of the entities has.
    """

    calls: int = 0
    properties: int = 0
    models: set[Model] = field(default_factory=set)
    validated: int = 0
    taken: set[str] = field(default_factory=set)
    lacking: set[str] = field(default_factory=set)
    most: int = 0

    def add_model(self, model: Model, names: Collection[str], is_first: bool) -> None:
        """Add a model that an entity was validated as.

        Args:
            model: its fields.
            names: of the entity's properties.
            is_first: whether it is the first model of this entity.
        """
        # In place: no other thread's addition is lost.
        self.models.add(model)
        for name in model.names or ():
            (self.taken if name in names else self.lacking).add(name)
        if len(names) > self.most:
            self.most = len(names)
        if is_first:
            self.validated += 1

    def copy(self) -> Line:
        """Return the counts so far, which do not change any more."""
        models, taken, lacking = set(self.models), set(self.taken), set(self.lacking)
        return replace(self, models=models, taken=taken, lacking=lacking)


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
        obstacle: the reason why a client decodes them as a whole; empty, if it does not.
        are_of_queries: whether all of them are whole entities that queries returned.
        uses: those of :data:`USES` that one of the entities was put to.
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
    obstacle: str = ""
    are_of_queries: bool = False
    uses: frozenset[str] = frozenset()
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
    """Add the counts of a counter to others.

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
