"""The comparison on the user's own entities or documents, which are only read.

A lazy query that reads nothing gives the time of a call without decoding. A decode case measures
the remaining work of the query, which :func:`calls` subtracts.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import GoogleAuthError
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity.bench.clients.datastore import converting
from lazyentity.bench.entities import (
    EAGER,
    MATERIALIZED,
    READS,
    WHOLE,
    EntityMessage,
    applies,
    lookup_responses,
    reader,
)
from lazyentity.bench.harness import MILLISECONDS, PER_ENTITY, Case, Comparison
from lazyentity.bench.results import OwnCall, Results, summarize

RPC_SECONDS = 5
CALLS = 5
NOTHING = "0"
"""The read of a call in which nothing is decoded, see `READS`."""
SECTION = "your own"
_IN_A_RESPONSE = 20
NO_RETRY = Retry(predicate=if_exception_type())
# Without a project, from an argument or the environment, the client raises an OSError.
ERRORS = (GoogleAPICallError, RetryError, GoogleAuthError, OSError)


class Unreachable(Exception):
    """The entities cannot be read; the text says from where and why."""


class UnknownProperty(Exception):
    """No entity has a property that the user named."""


@contextlib.contextmanager
def reading(source: object) -> Iterator[None]:
    """Say what cannot be read, and why.

    Raises:
        Unreachable: the server does not answer, there are no credentials, or it refuses.
    """
    try:
        yield
    except ERRORS as error:
        raise Unreachable(f"cannot read {source}: {error}") from error


@dataclass(frozen=True)
class Source:
    """The entities to read: up to ``limit`` of ``kind``; the rest is as in ``datastore.Client``.

    The client connects to the emulator that ``DATASTORE_EMULATOR_HOST`` names if that is set, with
    its default project and without credentials. Else it connects to the service, with the default
    credentials.
    """

    kind: str
    limit: int
    project: str | None = None
    namespace: str | None = None
    database: str | None = None
    client = "datastore"

    def __str__(self) -> str:
        return f"kind {self.kind!r} from {os.environ.get(GCD_HOST, 'the Datastore service')}"

    def _connect(self) -> datastore.Client:
        """A client that has just had an answer to the smallest possible query."""
        client = datastore.Client(
            project=self.project or emulator_project(GCD_HOST),
            namespace=self.namespace,
            database=self.database,
        )
        query = client.query(kind=self.kind)
        query.keys_only()
        list(query.fetch(limit=1, retry=NO_RETRY, timeout=RPC_SECONDS))
        return client

    def fetch(self) -> Fetched:
        """Read the entities.

        Raises:
            Unreachable: there is no answer within 5 seconds, there are no credentials, the server
                answers with an error, or it has no such entity.
        """
        with reading(self):
            client = self._connect()
            query = lazyentity.wrap(client.query(kind=self.kind))
            raw = [lazyentity.raw(entity) for entity in query.fetch(limit=self.limit)]
        if not raw:
            raise Unreachable(f"there is nothing of {self}")
        return Fetched(self, raw, lambda: query.fetch(limit=self.limit), entity_cases)

    @property
    def description(self) -> str:
        """The source in the results."""
        return f"entities of {self}"


@dataclass(frozen=True)
class Fetched:
    """What a source has: entities, or the responses of a query.

    Attributes:
        source: names them.
        raw: their bytes.
        again: sends the query once more, and iterates over its lazy results.
        make_cases: makes the decode cases of ``raw`` and of the names that the user gives.
    """

    source: object
    raw: list[bytes]
    again: Callable[[], Iterable[Any]]
    make_cases: Callable[[Sequence[bytes], Sequence[str]], list[Case]]

    def call(self) -> None:
        """Read them once more, decoding nothing.

        Raises:
            Unreachable: the server does not answer any more.
        """
        with reading(self.source):
            for _ in self.again():
                pass

    def cases(self, names: Sequence[str] = ()) -> list[Case]:
        """The decode cases: of some numbers of properties, or of ``names`` beside none and all.

        Raises:
            UnknownProperty: nothing that was read has one of ``names``.
        """
        return self.make_cases(self.raw, names)


def measure_call(call: Callable[[], None], entities: int, rate: float) -> OwnCall:
    """Time the query; one more query comes first, which finds everything cold.

    Args:
        call: sends the query and reads its answer, decoding nothing.
        entities: how many a call reads.
        rate: how many calls a second the savings are given for.
    """
    times = []
    for _ in range(CALLS + 1):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return OwnCall(entities=entities, rate=rate, undecoded=summarize(times[1:], MILLISECONDS))


def entity_cases(raw: Sequence[bytes], names: Sequence[str] = ()) -> list[Case]:
    """The decode cases of serialised entities.

    Raises:
        UnknownProperty: no entity has one of ``names``.
    """
    messages = [EntityMessage.FromString(entity) for entity in raw]
    responses = tuple(lookup_responses(messages, _IN_A_RESPONSE))

    def compared(wanted: Sequence[Sequence[str]] | None) -> Comparison:
        return converting(responses, reader(wanted, deep=True))

    every = [tuple(sorted(message.properties)) for message in messages]
    reads = [read for read in READS if read not in (EAGER, MATERIALIZED)]
    return make_cases(every, names, reads, compared)


def make_cases(
    every: Sequence[tuple[str, ...]],
    names: Sequence[str],
    reads: Sequence[str],
    compared: Callable[[Sequence[Sequence[str]] | None], Comparison],
) -> list[Case]:
    """The cases of some reads.

    The properties to read are chosen for each entity by itself, evenly spread. With ``names``, the
    reads are of nothing, of these properties and of all properties.

    Args:
        every: the names of the properties of each entity.
        names: that the user gives.
        reads: some of `READS`, measured if the user gives no names.
        compared: makes both ways to read some properties of each entity; None: through items().

    Raises:
        UnknownProperty: no entity has one of ``names``.
    """
    properties = round(statistics.median(map(len, every)))

    def case(read: str, wanted: Sequence[Sequence[str]] | None) -> Case:
        made = contextlib.nullcontext(compared(wanted))
        return Case(SECTION, "entities", len(every), properties, read, PER_ENTITY, lambda: made)

    def chosen(read: str) -> list[tuple[str, ...]] | None:
        return None if read == "items" else [spread(read, own) for own in every]

    if names:
        check_names(names, {name for own in every for name in own})
        plan = [[name for name in names if name in own] for own in every]
        return [case(NOTHING, chosen(NOTHING)), case(", ".join(names), plan), case("all", every)]
    return [case(read, chosen(read)) for read in reads if applies(properties, read)]


def check_names(names: Sequence[str], known: set[str]) -> None:
    """Check the names that a user gives.

    Raises:
        UnknownProperty: one of them is not known.
    """
    for name in names:
        if name not in known:
            similar = difflib.get_close_matches(name, sorted(known), n=1)
            meant = f"did you mean {similar[0]!r}?" if similar else "check the name"
            raise UnknownProperty(f"no entity that was read has a property {name!r}; {meant}")


def spread(read: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The ``names`` that ``read`` (one of `READS` by name) takes, evenly spread."""
    whole = len(names)
    if read in WHOLE:
        return names
    count = whole // 2 if read == "half" else min(whole, int(read))
    return tuple(names[whole * turn // count] for turn in range(count))


@dataclass(frozen=True)
class Call:
    """A call that reads some properties: milliseconds.

    ``rest`` is all but decoding: the network, the server, and the client's own work. It is the
    same with and without lazyentity.
    """

    read: str
    entities: int
    rest: float
    stock_decoding: float
    lazy_decoding: float

    @property
    def stock(self) -> float:
        """The whole call without lazyentity."""
        return self.rest + self.stock_decoding

    @property
    def lazy(self) -> float:
        """The whole call with lazyentity."""
        return self.rest + self.lazy_decoding

    def cores_saved(self, rate: float) -> float:
        """The seconds of CPU that ``rate`` calls a second save in each second."""
        return (self.stock_decoding - self.lazy_decoding) / MILLISECONDS * rate

    def sentence(self, rate: float) -> str:
        """The outcome in words."""
        return (
            f"A query of {self.entities} entities that reads {_in_words(self.read)} takes "
            f"{self.stock:.1f} ms, of which {_share(self.stock_decoding, self.stock)} is decoding. "
            f"With lazyentity it takes {self.lazy:.1f} ms, of which "
            f"{_share(self.lazy_decoding, self.lazy)} is decoding. A service that sends {rate:g} "
            f"of them a second saves {self.cores_saved(rate):.2f} CPU cores."
        )

    def cells(self, rate: float) -> tuple[str, ...]:
        """The outcome as a row of :data:`HEADERS`."""
        return (
            self.read,
            f"{self.stock:.1f}",
            _share(self.stock_decoding, self.stock),
            f"{self.lazy:.1f}",
            _share(self.lazy_decoding, self.lazy),
            f"{self.cores_saved(rate):.2f}",
        )


HEADERS = ("read", "stock", "decoding", "lazy", "decoding", "cores saved")


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "-"


def _in_words(read: str) -> str:
    if read in WHOLE:
        return "all properties"
    if read in ("0", "half"):
        return {"0": "no property", "half": "half of the properties"}[read]
    if read.isdecimal():
        return f"{read} {'property' if read == '1' else 'properties'} of each"
    return read


def calls(results: Results) -> Iterator[Call]:
    """The calls of a run, one for each read; none if their parts were not measured."""
    lines = {line.done: line for line in results.lines}
    measured, nothing_read = results.own_call, lines.get(NOTHING)
    if measured is None or nothing_read is None:
        return
    to_call = measured.entities / MILLISECONDS
    # The times of a fast network and of decoding were not taken at the same moment.
    rest = max(0.0, measured.undecoded.median - nothing_read.lazy.median * to_call)
    for read, line in lines.items():
        yield Call(
            read,
            measured.entities,
            rest,
            stock_decoding=line.stock.median * to_call,
            lazy_decoding=line.lazy.median * to_call,
        )


def outcome(results: Results) -> str | None:
    """The outcome in words for one read; None if the parts were not measured.

    It is of the properties that the user named; else of all of them, which gains least.
    """
    by_read = {call.read: call for call in calls(results)}
    if results.own_call is None or not by_read:
        return None
    named = [read for read in by_read if read not in READS]
    read = named[0] if named else "all" if "all" in by_read else [*by_read][-1]
    return by_read[read].sentence(results.own_call.rate)


def emulator_project(variable: str) -> str | None:
    """Return the default project of an emulator, None where none is used.

    A client looks for a default project beside its credentials, and an emulator needs none.

    Args:
        variable: names the emulator's host, as ``DATASTORE_EMULATOR_HOST`` does.
    """
    if variable not in os.environ:
        return None
    given = (os.environ.get(name) for name in _PROJECTS)
    return next(filter(None, given), "demo")


_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "DATASTORE_PROJECT_ID", "DATASTORE_DATASET")
