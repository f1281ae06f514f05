"""The counts of a profile: entities by the line that received them, and properties by name.

No count is lost between threads under the GIL. CPython switches threads at calls and jumps only, so
adding to a number of an instance is one step; so is counting names, which ``Counter.update()`` does
in C.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from time import monotonic
from typing import Any, Final, Self

from lazyentity.codec.describing import plain_name
from lazyentity.profiling import callsites
from lazyentity.profiling.callsites import CallSite

MAX_NAMES: Final = 1000
"""How many names are counted one by one; all others share one count."""
OTHER_NAMES: Final = "(other names)"
BY_NAME: Final = "by name"
"""The operation that decodes a property by itself."""


def _count_names(counts: Counter[str], names: Iterable[Any]) -> None:
    # A name of another class would be kept, and be shown by methods of its own.
    plain = [name if type(name) is str else plain_name(name) for name in names]
    if len(counts) >= MAX_NAMES:
        plain = [name if name in counts else OTHER_NAMES for name in plain]
    counts.update(plain)


@dataclass
class Counts:
    """The entities of a kind that one line received.

    Attributes:
        entities: how many became lazy entities.
        size: the bytes of the lazy entities.
        eager: how many became stock entities, with everything decoded.
        eager_size: the bytes of the stock entities.
        partial: how many came from anything but a query that returns whole entities.
        without_options: how many ``wrap()`` has no options for: models, and other clients'.
        used: how many uses of a lazy entity there were beside decoding a property.
        had: how many of the lazy entities had each property.
        read: how many times each property was decoded by itself.
        whole: how many times it was decoded together with all others, or for columns.
    """

    entities: int = 0
    size: int = 0
    eager: int = 0
    eager_size: int = 0
    partial: int = 0
    without_options: int = 0
    used: int = 0
    had: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)

    @property
    def received(self) -> int:
        """How many properties the lazy entities have."""
        return self.had.total()

    @property
    def decoded(self) -> Counter[str]:
        """How many times each property was decoded."""
        return self.read + self.whole

    def add(self, other: Counts) -> None:
        """Add the counts of another line or kind."""
        for each in fields(Counts):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def since(self, earlier: Counts) -> Counts:
        """Return what was counted after an earlier moment."""
        names = [each.name for each in fields(Counts)]
        return Counts(**{name: getattr(self, name) - getattr(earlier, name) for name in names})


@dataclass(eq=False)
class EntityCounts(Counts):
    """The running counts of a line and a kind. Every lazy entity counted here refers to them.

    Attributes:
        kind: of the entities; None without a key.
        data: the counts of the process.
    """

    kind: str | None = None
    data: ProfileData = field(kw_only=True)

    def receive(
        self,
        names: Collection[Any],
        size: int,
        *,
        is_of_query: bool = False,
        has_options: bool = False,
    ) -> Self:
        """Count a lazy entity.

        Args:
            names: of its properties.
            size: its bytes.
            is_of_query: whether a query returned it as a whole.
            has_options: whether it is of a client that ``wrap()`` takes.
        """
        self.entities += 1
        self.size += size
        self.partial += not is_of_query
        self.without_options += not has_options
        _count_names(self.had, names)
        return self

    def receive_eager(self, size: int) -> None:
        """Count an entity that became a stock entity."""
        self.eager += 1
        self.eager_size += size

    def decode(self, names: Collection[Any], operation: str = "") -> None:
        """Count properties that were decoded.

        Args:
            names: of the properties.
            operation: as users know it; empty, if each property was decoded by itself.
        """
        _count_names(self.whole if operation else self.read, names)
        _count_names(self.data.decoding(operation or BY_NAME, self.kind), names)

    def use(self) -> None:
        """Count a use of an entity that shows that its properties are needed."""
        self.used += 1

    def plain(self) -> Counts:
        """Return the counts so far, which do not change any more."""
        return Counts(**{each.name: copy.copy(getattr(self, each.name)) for each in fields(Counts)})


Decoding = tuple[CallSite, str, str | None]
"""The line, the operation, and the kind of the entities."""


class ProfileData:
    """All counts of a process.

    Attributes:
        received: by the line that received the entities, and their kind.
        decoded: the properties decoded by the line that decoded them.
    """

    def __init__(self) -> None:
        self.received: dict[tuple[CallSite, str | None], EntityCounts] = {}
        self.decoded: dict[Decoding, Counter[str]] = {}

    def counts(self, kind: str | None) -> EntityCounts:
        """Return the counts of a kind for the line of the application that is running."""
        site = callsites.find()
        known = self.received.get((site, kind))
        if known is not None:
            return known
        return self.received.setdefault((site, kind), EntityCounts(kind=kind, data=self))

    def decoding(self, operation: str, kind: str | None) -> Counter[str]:
        """Return the properties that the line of the application that is running decoded."""
        return self.decoded.setdefault((callsites.find(), operation, kind), Counter())

    def receive(self, entity: Any, raw: bytes, is_of_query: bool) -> None:
        """Count a lazy entity of either backend, which counts what is decoded from then on.

        Args:
            entity: lazy, just made.
            raw: its bytes.
            is_of_query: whether a query returned it as a whole.
        """
        counts = self.counts(kind_of(raw))
        counts.receive(dict.keys(entity), len(raw), is_of_query=is_of_query, has_options=True)
        entity._entity_counts = counts

    def receive_eager(self, raw: bytes) -> None:
        """Count a stock entity, by its bytes."""
        self.counts(kind_of(raw)).receive_eager(len(raw))

    def snapshot(self) -> Snapshot:
        """Return the counts so far."""
        # Copies: other threads add to the data.
        return Snapshot(
            monotonic(),
            {key: counts.plain() for key, counts in self.received.copy().items()},
            {key: Counter(names) for key, names in self.decoded.copy().items()},
        )


def kind_of(raw: bytes) -> str | None:
    """Return the kind of a serialised entity; None if it has no key that can be read."""
    # Not at the top: a profile can begin before the client is imported.
    from google.protobuf.message import DecodeError

    from lazyentity.codec.keys import key_message_from_raw

    try:
        key = key_message_from_raw(raw)
    except DecodeError:
        return None
    return key.path[-1].kind if key is not None and key.path else None


@dataclass(frozen=True)
class Snapshot:
    """The counts of a process at one moment, or the difference of two moments.

    Attributes:
        seconds: the moment, as of ``time.monotonic()``, or the time between two.
        received, decoded: as of :class:`ProfileData`.
    """

    seconds: float = 0.0
    received: Mapping[tuple[CallSite, str | None], Counts] = field(default_factory=dict)
    decoded: Mapping[Decoding, Counter[str]] = field(default_factory=dict)

    def since(self, earlier: Snapshot) -> Snapshot:
        """Return what was counted after an earlier moment."""
        nothing = Counts()
        received = {
            key: counts.since(earlier.received.get(key, nothing))
            for key, counts in self.received.items()
        }
        decoded = {
            key: names - earlier.decoded.get(key, Counter()) for key, names in self.decoded.items()
        }
        return Snapshot(
            self.seconds - earlier.seconds,
            {key: counts for key, counts in received.items() if counts != nothing},
            {key: names for key, names in decoded.items() if names},
        )
