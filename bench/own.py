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
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity.bench import verify
from lazyentity.bench.clients.datastore import converting
from lazyentity.bench.entities import (
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
_BY_NAME = NOTHING, "1", "4", "half", "all"
_IN_A_RESPONSE = 20
_NO_RETRY = Retry(predicate=if_exception_type())
# Without a project, from an argument or the environment, the client raises an OSError.
_ERRORS = (GoogleAPICallError, RetryError, GoogleAuthError, OSError)
_PROJECTS = ("GOOGLE_CLOUD_PROJECT", "DATASTORE_PROJECT_ID", "DATASTORE_DATASET")

Names = Sequence[Sequence[str]]
"""The properties to read of each entity."""


class Unreachable(Exception):
    """The entities cannot be read; the text says from where and why."""


class UnknownProperty(Exception):
    """No entity has a property that the user named."""


@dataclass(frozen=True)
class Own:
    """Entities or documents that a query has found.

    Attributes:
        client: that has read them.
        source: names them.
        described: the source in the results.
        names: of the properties of each.
        query: sends the query once more, and iterates over its lazy results.
        compared: makes both ways to read some properties of each; None: through items().
        reads: some of `READS`, measured if the user names no properties.
    """

    client: str
    source: str
    described: str
    names: list[tuple[str, ...]]
    query: Callable[[], Iterable[Any]]
    compared: Callable[[Names | None], Comparison]
    reads: tuple[str, ...]

    def measure_call(self, rate: float) -> OwnCall:
        """Time the query, decoding nothing; one more query comes first, which finds all cold.

        Args:
            rate: how many calls a second the savings are given for.

        Raises:
            Unreachable: the server does not answer any more.
        """
        times = []
        with _reading(self.source):
            for _ in range(CALLS + 1):
                start = time.perf_counter()
                for _entity in self.query():
                    pass
                times.append(time.perf_counter() - start)
        return OwnCall(len(self.names), rate, summarize(times[1:], MILLISECONDS))

    def cases(self, given: Sequence[str] = ()) -> list[Case]:
        """The decode cases: of some numbers of properties, or of those given beside none and all.

        Numbers of properties are chosen for each entity by itself, evenly spread.

        Raises:
            UnknownProperty: no entity has one of the properties given.
        """
        properties = round(statistics.median(map(len, self.names)))

        def case(read: str, wanted: Names | None) -> Case:
            made = contextlib.nullcontext(self.compared(wanted))
            size = len(self.names), properties
            return Case("your own", "entities", *size, read, PER_ENTITY, lambda: made)

        def spread(read: str) -> Case:
            if read == "items":
                return case(read, None)
            return case(read, [_spread(read, names) for names in self.names])

        if given:
            _check_names(given, {name for names in self.names for name in names})
            wanted = [[name for name in given if name in names] for names in self.names]
            return [spread(NOTHING), case(", ".join(given), wanted), spread("all")]
        return [spread(read) for read in self.reads if applies(properties, read)]


@contextlib.contextmanager
def _reading(source: str) -> Iterator[None]:
    try:
        yield
    except _ERRORS as error:
        raise Unreachable(f"cannot read {source}: {error}") from error


def entities(
    kind: str,
    limit: int,
    project: str | None = None,
    database: str | None = None,
    namespace: str | None = None,
) -> Own:
    """Read entities: up to ``limit`` of ``kind``; the rest is as in ``datastore.Client``.

    The client connects to the emulator that ``DATASTORE_EMULATOR_HOST`` names if that is set, with
    its default project and without credentials. Else it connects to the service, with the default
    credentials.

    Raises:
        Unreachable: there is no answer within 5 seconds, there are no credentials, the server
            answers with an error, or it has no such entity.
    """
    source = f"kind {kind!r} from {os.environ.get(GCD_HOST, 'the Datastore service')}"
    with _reading(source):
        client = datastore.Client(
            project=project or _emulator_project(GCD_HOST), namespace=namespace, database=database
        )
        query = lazyentity.wrap(client.query(kind=kind))
        found = query.fetch(limit=limit, retry=_NO_RETRY, timeout=RPC_SECONDS)
        raw = [lazyentity.raw(entity) for entity in found]
    if not raw:
        raise Unreachable(f"there is nothing of {source}")
    messages = [EntityMessage.FromString(entity) for entity in raw]
    responses = tuple(lookup_responses(messages, _IN_A_RESPONSE))
    return Own(
        client="datastore",
        source=source,
        described=f"{len(raw)} entities of {source}",
        names=[tuple(sorted(message.properties)) for message in messages],
        query=lambda: query.fetch(limit=limit),
        compared=lambda wanted: converting(responses, reader(wanted, deep=True)),
        reads=(*_BY_NAME, "items"),
    )


def documents(
    collection: str, limit: int, project: str | None = None, database: str | None = None
) -> Own:
    """Read documents, as :func:`entities`; the emulator is that of ``FIRESTORE_EMULATOR_HOST``.

    Raises:
        ImportError: google-cloud-firestore is not installed.
        Unreachable: as :func:`entities`.
    """
    from google.cloud import firestore
    from google.cloud.firestore_v1.types import Document

    from lazyentity.bench.clients.firestore import HOST, RunQueryResponse, receiving

    source = f"collection {collection!r} from {os.environ.get(HOST, 'the Firestore service')}"
    with _reading(source):
        client = firestore.Client(
            project=project or _emulator_project(HOST),
            database=database,
            credentials=AnonymousCredentials() if HOST in os.environ else None,
        )
        query = lazyentity.wrap(client).collection(collection).limit(limit)
        found: Any = query.stream(retry=_NO_RETRY, timeout=RPC_SECONDS)
        received = [Document.deserialize(lazyentity.raw(snapshot)) for snapshot in found]
    if not received:
        raise Unreachable(f"there is nothing of {source}")
    names = [tuple(sorted(document.fields)) for document in received]
    raw = [RunQueryResponse.serialize(RunQueryResponse(document=each)) for each in received]

    def compared(wanted: Names | None) -> Comparison:
        read = _read_documents(wanted or (), is_whole=wanted == names)
        return receiving(raw, read, _check_documents, client.collection(collection))

    return Own(
        client="firestore",
        source=source,
        described=f"{len(raw)} documents of {source}",
        names=names,
        query=query.stream,
        compared=compared,
        reads=_BY_NAME,
    )


def _read_documents(wanted: Names, is_whole: bool) -> Callable[[list[Any]], list[Any]]:
    """Read fields of each snapshot; all fields are read by ``to_dict()``."""
    from google.cloud.firestore_v1.field_path import FieldPath

    paths = [[FieldPath(name).to_api_repr() for name in names] for names in wanted]

    def read(snapshots: list[Any]) -> list[Any]:
        for snapshot, chosen in zip(snapshots, paths, strict=True):
            if is_whole:
                snapshot.to_dict()
                continue
            for path in chosen:
                snapshot.get(path)
        return snapshots

    return read


def _check_documents(stock: list[Any], lazy: list[Any]) -> None:
    read, lazy_read = ([one.to_dict() for one in of] for of in (stock, lazy))
    verify.check_same(read, lazy_read, "documents")


def _check_names(names: Sequence[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            similar = difflib.get_close_matches(name, sorted(known), n=1)
            meant = f"did you mean {similar[0]!r}?" if similar else "check the name"
            raise UnknownProperty(f"no entity that was read has a property {name!r}; {meant}")


def _spread(read: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The ``names`` that ``read`` (one of `READS` by name) takes, evenly spread."""
    whole = len(names)
    if read in WHOLE:
        return names
    count = whole // 2 if read == "half" else min(whole, int(read))
    return tuple(names[whole * turn // count] for turn in range(count))


def _emulator_project(variable: str) -> str | None:
    """The default project of the emulator that a variable names; None where none is used.

    A client looks for a default project beside its credentials, and an emulator needs none.
    """
    if variable not in os.environ:
        return None
    given = (os.environ.get(name) for name in _PROJECTS)
    return next(filter(None, given), "demo")


HEADERS = ("read", "stock", "decoding", "lazy", "decoding", "cores saved")


@dataclass(frozen=True)
class Call:
    """A call that reads some properties: milliseconds.

    Attributes:
        read: in words.
        entities: how many.
        rate: how many such calls a second are sent.
        rest: all but decoding: the network, the server, and the client's work. It is the same with
            and without lazyentity.
        stock: decoding without lazyentity.
        lazy: decoding with lazyentity.
    """

    read: str
    entities: int
    rate: float
    rest: float
    stock: float
    lazy: float

    def cells(self) -> tuple[str, ...]:
        """The outcome as a row of :data:`HEADERS`: the CPU cores saved are seconds in a second."""
        wholes = self.rest + self.stock, self.rest + self.lazy
        return (
            self.read,
            f"{wholes[0]:.1f}",
            f"{self.stock / wholes[0]:.0%}",
            f"{wholes[1]:.1f}",
            f"{self.lazy / wholes[1]:.0%}",
            f"{(self.stock - self.lazy) / MILLISECONDS * self.rate:.2f}",
        )

    def sentence(self) -> str:
        """The outcome in words."""
        _, stock, stock_share, lazy, lazy_share, cores = self.cells()
        read = "all properties" if self.read == "all" else self.read
        return (
            f"A query of {self.entities} entities that reads {read} takes {stock} ms, of which "
            f"{stock_share} is decoding. With lazyentity it takes {lazy} ms, of which {lazy_share} "
            f"is decoding. A service that sends {self.rate:g} of them a second saves {cores} CPU "
            "cores."
        )


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
        decoding = line.stock.median * to_call, line.lazy.median * to_call
        yield Call(read, measured.entities, measured.rate, rest, *decoding)


def outcome(results: Results) -> str | None:
    """The outcome in words, of the properties that the user named, else of all.

    None if the parts were not measured. Reading all of them gains least.
    """
    by_read = {call.read: call for call in calls(results)}
    named = (read for read in by_read if read not in READS)
    call = by_read.get(next(named, "all"))
    return call.sentence() if call else None
