"""The counts of entities and properties, as a report needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple


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
    """The operations of the same sort at one site.

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

    def since(self, earlier: Line) -> Line:
        """Return what was counted after an earlier moment."""
        return replace(self, **_differences(self, earlier, ("calls", "properties", "validated")))


@dataclass
class Counts:
    """The entities of a kind that one site received.

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
        uses: the :data:`USES` that one of the entities was put to.
        had: how many of the lazy entities had each property.
        read: how many times each property was decoded by itself.
        whole: how many times it was decoded together with all others.
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
    had: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)

    @property
    def received(self) -> int:
        """How many properties the lazy entities have."""
        return self.had.total()

    @property
    def decoded_by_name(self) -> Counter[str]:
        """How many times each property was decoded."""
        return self.read + self.whole

    @property
    def decoded(self) -> int:
        """How many times properties were decoded."""
        return self.decoded_by_name.total()

    @property
    def decoded_once(self) -> int:
        """How many properties were decoded: none counts more often than it was received."""
        return (self.decoded_by_name & self.had).total()

    def add(self, other: Counts) -> None:
        """Add the entities of another site or kind, and their properties."""
        self.entities += other.entities
        self.size += other.size
        self.eager += other.eager
        self.eager_size += other.eager_size
        self.add_names(other.had, other.read, other.whole)

    def add_alive(self, number: int, size: int, byte_seconds: float, longest: float) -> None:
        """Add the entities of a counter that are still in memory.

        Args:
            number: of these entities.
            size: their bytes.
            byte_seconds: the bytes of each times the seconds that it has been in memory.
            longest: the seconds that an entity now gone was in memory.
        """
        self.alive += number
        self.alive_size += size
        self.byte_seconds += byte_seconds
        # The age of each single entity that is alive is not known.
        mean_age = byte_seconds / size if size else 0.0
        self.longest = max(self.longest, longest, mean_age)

    def add_names(
        self, received: Mapping[str, int], read: Mapping[str, int], whole: Mapping[str, int]
    ) -> None:
        """Add numbers by the name of the property."""
        self.had.update(received)
        self.read.update(read)
        self.whole.update(whole)

    def since(self, earlier: Counts) -> Counts:
        """Return what was counted after an earlier moment.

        All entities that are still in memory count, whenever they arrived.
        """
        numbers = ("entities", "size", "eager", "eager_size", "byte_seconds")
        return replace(self, **_differences(self, earlier, (*numbers, "had", "read", "whole")))


def _differences(later: object, earlier: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(later, name) - getattr(earlier, name) for name in names}
