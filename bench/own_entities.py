"""The decode comparison on the user's own entities. It reads, and never writes."""

from __future__ import annotations

import os
import statistics
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import GoogleAuthError
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity.bench.cases import decoding, reading, synthetic
from lazyentity.bench.cases.wire import EntityMessage, lookup_responses

RPC_SECONDS = 5
DEADLINE_SECONDS = 8
_NO_RETRY = Retry(predicate=if_exception_type())


class Unreachable(Exception):
    """The entities cannot be had; the text says from where and why."""


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """The result of ``work``, which is given up (and left to itself) after ``seconds``.

    A thread, because the search for credentials and the lookup of names keep to no deadline of
    ours.

    Raises:
        TimeoutError: it took longer.
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
        """A client that has just had an answer to the smallest query there is."""
        client = datastore.Client(
            project=self.project, namespace=self.namespace, database=self.database
        )
        query = client.query(kind=self.kind)
        query.keys_only()
        list(query.fetch(limit=1, retry=_NO_RETRY, timeout=RPC_SECONDS))
        return client

    def fetch(self) -> list[bytes]:
        """The entities, serialised.

        Raises:
            Unreachable: there is no answer within 10 seconds, there are no credentials, the server
                answers with an error, or it has no such entity.
        """
        try:
            client = _within(DEADLINE_SECONDS, self._connect)
            query = lazyentity.wrap(client.query(kind=self.kind))
            raw = [lazyentity.raw(entity) for entity in query.fetch(limit=self.limit)]
        except (GoogleAPICallError, RetryError, GoogleAuthError, OSError) as error:
            # Without a project (an argument or the environment's) the client raises an OSError.
            raise Unreachable(f"cannot read {self}: {error}") from error
        if not raw:
            raise Unreachable(f"there is nothing of {self}")
        return raw


def own_cases(raw: Sequence[bytes], reads: Sequence[str]) -> list[decoding.Case]:
    """The decode cases of these entities, one for each of ``reads`` that applies.

    Which of its properties are read is chosen for each entity by itself, evenly spread.
    """
    messages = [EntityMessage.FromString(entity) for entity in raw]
    responses = tuple(lookup_responses(messages, decoding.ENTITIES_A_RESPONSE))
    names = [tuple(sorted(message.properties)) for message in messages]
    properties = round(statistics.median(map(len, names)))
    return [
        decoding.Case("own", properties, read, responses, len(messages), _reader(read, names))
        for read in reads
        if synthetic.applies(properties, read)
    ]


def _reader(read: str, names: Sequence[tuple[str, ...]]) -> reading.Reader:
    if read == "items":
        return reading.ThroughItems(deep=True)
    return reading.ByName(plan=tuple(spread(read, all_names) for all_names in names), deep=True)


def spread(read: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The ``names`` that ``read`` (one of `synthetic.READS` by name) takes, evenly spread."""
    whole = len(names)
    counts = {
        "all": whole,
        synthetic.EAGER: whole,
        synthetic.MATERIALIZED: whole,
        "half": whole // 2,
    }
    wanted = counts.get(read)
    count = min(whole, int(read) if wanted is None else wanted)
    return tuple(names[whole * turn // count] for turn in range(count))
