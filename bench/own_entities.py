"""The decode comparison on the user's own entities, which are only read.

A lazy query that reads nothing gives the time of a call without decoding. A decode case measures
the remaining work of the query, which :mod:`lazyentity.bench.report.own` subtracts.
"""

from __future__ import annotations

import difflib
import os
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import GoogleAuthError
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.cases.decoding import EntityMessage, lookup_responses
from lazyentity.bench.harness.lines import OwnCall
from lazyentity.bench.harness.stats import summarize
from lazyentity.bench.harness.timing import MILLISECONDS

RPC_SECONDS = 5
DEADLINE_SECONDS = 8
CALLS = 5
NOTHING = "0"
"""The read of a call in which nothing is decoded, see `synthetic.READS`."""
_NO_RETRY = Retry(predicate=if_exception_type())
# Without a project, from an argument or the environment, the client raises an OSError.
_ERRORS = (GoogleAPICallError, RetryError, GoogleAuthError, OSError)


class Unreachable(Exception):
    """The entities cannot be read; the text says from where and why."""


class UnknownProperty(Exception):
    """No entity has a property that the user named."""


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """The result of ``work``, which is given up (and left to itself) after ``seconds``.

    A thread runs it, because the search for credentials and the lookup of names keep no deadline.

    Raises:
        TimeoutError: ``work`` took longer.
        Exception: ``work`` raised it.
    """
    outcome: list[Any] = []
    failure: list[Exception] = []

    def catch() -> None:
        try:
            outcome.append(work())
        except Exception as error:  # noqa: BLE001  # raised again by the waiting thread
            failure.append(error)

    thread = threading.Thread(target=catch, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return outcome[0]


@dataclass(frozen=True)
class Source:
    """The entities to read: up to ``limit`` of ``kind``; the rest is as in ``datastore.Client``.

    The client connects to the emulator that ``DATASTORE_EMULATOR_HOST`` names if that is set, else
    to the service, with the default credentials.
    """

    kind: str
    limit: int
    project: str | None = None
    namespace: str | None = None
    database: str | None = None

    def __str__(self) -> str:
        return f"kind {self.kind!r} from {os.environ.get(GCD_HOST, 'the Datastore service')}"

    def _connect(self) -> datastore.Client:
        """A client that has just had an answer to the smallest possible query."""
        client = datastore.Client(
            project=self.project, namespace=self.namespace, database=self.database
        )
        query = client.query(kind=self.kind)
        query.keys_only()
        list(query.fetch(limit=1, retry=_NO_RETRY, timeout=RPC_SECONDS))
        return client

    def fetch(self) -> Fetched:
        """Read the entities.

        Raises:
            Unreachable: there is no answer within 10 seconds, there are no credentials, the server
                answers with an error, or it has no such entity.
        """
        try:
            client = _within(DEADLINE_SECONDS, self._connect)
            raw = [lazyentity.raw(entity) for entity in self.query(client)]
        except _ERRORS as error:
            raise self._unreachable(error) from error
        if not raw:
            raise Unreachable(f"there is nothing of {self}")
        return Fetched(self, client, raw)

    def query(self, client: datastore.Client) -> Any:
        """Yield the entities, lazy ones."""
        return lazyentity.wrap(client.query(kind=self.kind)).fetch(limit=self.limit)

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(f"cannot read {self}: {error}")


@dataclass(frozen=True)
class Fetched:
    """The entities of ``source``, serialised, and the client that read them."""

    source: Source
    client: datastore.Client
    raw: list[bytes]

    def call(self) -> None:
        """Read them once more, decoding nothing.

        Raises:
            Unreachable: the server does not answer any more.
        """
        try:
            for _ in self.source.query(self.client):
                pass
        except _ERRORS as error:
            raise self.source._unreachable(error) from error


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
        times.append((time.perf_counter() - start) * MILLISECONDS)
    return OwnCall(entities=entities, rate=rate, undecoded=summarize(times[1:]))


def own_cases(
    raw: Sequence[bytes], reads: Sequence[str], names: Sequence[str] = ()
) -> list[decoding.Case]:
    """The decode cases of these entities, one for each of ``reads`` that applies.

    The properties to read are chosen for each entity by itself, evenly spread. With ``names``, the
    reads are of nothing, of these properties and of all properties.

    Raises:
        UnknownProperty: no entity has one of ``names``.
    """
    messages = [EntityMessage.FromString(entity) for entity in raw]
    responses = tuple(lookup_responses(messages, decoding.ENTITIES_A_RESPONSE))
    all_names = [tuple(sorted(message.properties)) for message in messages]
    properties = round(statistics.median(map(len, all_names)))

    def case(read: str, reader: decoding.Reader) -> decoding.Case:
        return decoding.Case("own", properties, read, responses, len(messages), reader)

    if not names:
        return [
            case(read, _reader(read, all_names))
            for read in reads
            if synthetic.applies(properties, read)
        ]
    _check_names(names, all_names)
    plan = tuple(tuple(name for name in names if name in own) for own in all_names)
    return [
        case(NOTHING, _reader(NOTHING, all_names)),
        case(", ".join(names), decoding.ByName(plan=plan, deep=True)),
        case("all", _reader("all", all_names)),
    ]


def _check_names(names: Sequence[str], all_names: Sequence[tuple[str, ...]]) -> None:
    known = {name for own in all_names for name in own}
    for name in names:
        if name not in known:
            similar = difflib.get_close_matches(name, sorted(known), n=1)
            meant = f"did you mean {similar[0]!r}?" if similar else "check the name"
            raise UnknownProperty(f"no entity that was read has a property {name!r}; {meant}")


def _reader(read: str, names: Sequence[tuple[str, ...]]) -> decoding.Reader:
    if read == "items":
        return decoding.ThroughItems(deep=True)
    return decoding.ByName(plan=tuple(spread(read, all_names) for all_names in names), deep=True)


def spread(read: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The ``names`` that ``read`` (one of `synthetic.READS` by name) takes, evenly spread."""
    whole = len(names)
    if read in synthetic.WHOLE:
        return names
    count = whole // 2 if read == "half" else min(whole, int(read))
    return tuple(names[whole * turn // count] for turn in range(count))
