"""The requests of bulk calls, sent through the API object of the client, each retried by itself."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import requests
from google.api_core.exceptions import Conflict, GatewayTimeout, ServiceUnavailable
from google.api_core.retry import Retry, if_exception_type
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore._http import HTTPDatastoreAPI
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity._backend import complete_key_bytes as direct_complete_key_bytes
from lazyentity._backend import key_bytes as direct_key_bytes
from lazyentity._backend import mutation_parts
from lazyentity.bulk.cancelling import cancellable, cancellation_of_thread, sends_bytes
from lazyentity.codec import messages, shadow
from lazyentity.codec.describing import safe_repr
from lazyentity.codec.interruptions import error_of_handler
from lazyentity.codec.keys import encodes_as_known
from lazyentity.patches.api.entities import HANDLES
from lazyentity.patches.api.protoplus import wrapped
from lazyentity.patches.api.requests import (
    REQUESTS,
    CommitBytes,
    LookupBytes,
    append_mutation,
)
from lazyentity.patches.api.responses import LookupResponse
from lazyentity.patches.datastore.keys import encoded_key, key_is_partial

_is_partial = operator.attrgetter("is_partial")

_LookupRequest: Any = datastore_pb2.LookupRequest.pb()
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()
_AllocateIdsRequest: Any = datastore_pb2.AllocateIdsRequest.pb()
_EVENTUAL = int(datastore_pb2.ReadOptions.ReadConsistency.EVENTUAL)
_NON_TRANSACTIONAL = int(datastore_pb2.CommitRequest.Mode.NON_TRANSACTIONAL)

# The times are those by which the client retries look-ups. The client's own policy covers neither
# contention (Aborted over gRPC, its base class Conflict over HTTP) nor a connection over HTTP that
# was refused, cut or silent. Each request can be sent again: it writes the same once more.
RETRY: Final = Retry(
    predicate=if_exception_type(
        Conflict,
        GatewayTimeout,
        ServiceUnavailable,
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ConnectionError,
        requests.exceptions.Timeout,
    ),
    initial=0.1,
    maximum=60.0,
    multiplier=1.3,
    deadline=60.0,
)
"""The policy of a request, unless the caller gives another."""

_MAX_DEFERRALS: Final = 100
"""So many look-ups in a row may answer no key; then the remaining keys fail."""


def is_partial(key: Key) -> bool:
    """Whether a key has neither an id nor a name."""
    return bool(key_is_partial(key, _is_partial))


def require_own(client: datastore.Client, key: Key, *, is_complete: bool) -> None:
    """Check that a key is of the client's project and database, and complete if it has to be.

    Raises:
        ValueError: it is not.
    """
    for name in ("project", "database"):
        theirs, ours = getattr(key, name), getattr(client, name)
        if (theirs or None) != (ours or None):
            raise ValueError(
                f"{safe_repr(key)} is of the {name} {theirs!r}, and the client of {ours!r}"
            )
    if is_complete and is_partial(key):
        raise ValueError(f"{safe_repr(key)} has neither an id nor a name, so no entity can have it")


def key_message(key: Key) -> Any:
    """Return the upb ``google.datastore.v1.Key`` of a key."""
    return encoded_key(key)._pb


def serialised_key(key: Key) -> bytes:
    """Return the serialised form of a key, always the same for equal keys."""
    serialised = direct_key_bytes(key) if type(key) is Key and encodes_as_known() else None
    return bytes(key_message(key).SerializeToString()) if serialised is None else serialised


def complete_key_encoder() -> Callable[[object, str, str], bytes | None]:
    """Return a function like :func:`serialised_key` for the keys of a call.

    It takes less time, and returns None for all but complete keys of a database.
    """
    return direct_complete_key_bytes if encodes_as_known() else lambda *_: None


def _key_bytes(message: Any) -> bytes:
    """Return the serialised key of an entity in a response, encoded anew."""
    return bytes(message.key._pb.SerializeToString())


def _as_asked(serialised: bytes, asked: Collection[bytes]) -> bytes:
    """Return a key that a server sent, in the encoding of the request.

    Raises:
        RuntimeError: the key was not asked for.
    """
    key = helpers.key_from_protobuf(messages.Key.FromString(serialised))
    encoded = serialised_key(key)
    if encoded not in asked:
        raise RuntimeError(f"the server answered for {safe_repr(key)}, which was not asked for")
    return encoded


Take = Callable[[tuple[Any, ...], dict[bytes, Any]], list[Any]]
"""Takes results that were found, and removes their keys from those that are pending.

It returns the results that it did not take.
"""


class _Interrupted(BaseException):
    """Carries the exception of a signal handler past a policy that would try again."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class Rpcs:
    """Sends the requests of a bulk call, from any thread.

    Args:
        client: patched, wrapped or stock.
        retry: the policy of each request; None is :data:`RETRY`.
        timeout: of an attempt, in seconds; None is the client's own.
    """

    def __init__(
        self, client: datastore.Client, retry: Retry | None, timeout: float | None
    ) -> None:
        self._client = client
        self._retry = RETRY if retry is None else retry
        self._timeout = {} if timeout is None else {"timeout": timeout}
        # Here, because the client makes both on first use, and several threads would make several.
        self._api = cancellable(client._datastore_api)
        if isinstance(self._api, HTTPDatastoreAPI):
            self._api.client._http  # noqa: B018  # a property

    def look_up(
        self, keys: Iterable[bytes], *, eventual: bool, take: Take | None = None
    ) -> Iterator[tuple[bytes, Any]]:
        """Look up keys until all are answered; deferred keys are asked for again.

        Args:
            keys: serialised, each once, at most 1,000.
            eventual: whether to read with eventual consistency.
            take: is called first, and takes results that are proxies.

        Yields:
            For each key that was not taken, as it is answered: the serialised key, and the message
            of the entity that was found, None if it is missing.

        Raises:
            google.api_core.exceptions.GoogleAPICallError: the server refused.
            google.api_core.exceptions.RetryError: the server refused until the policy gave up.
            RuntimeError: the server answered without an error, but not for all keys.
        """
        pending = dict.fromkeys(keys)
        fruitless = 0
        while pending:
            head = self._request(_LookupRequest)
            if eventual:
                head.read_options.read_consistency = _EVENTUAL
            serialised = shadow.LookupKeys(keys=pending).SerializeToString()
            response = self._send("lookup", LookupBytes.joined(head, serialised))
            before = len(pending)
            found = response.found
            if take is not None and type(response) is LookupResponse:
                found = take(found, pending)
            for results, is_found in ((found, True), (response.missing, False)):
                for result in results:
                    entity = result.entity
                    serialised = entity.serialised_key if type(entity) in HANDLES else None
                    if serialised is None:
                        serialised = _key_bytes(entity)
                    try:
                        del pending[serialised]
                    except KeyError:
                        serialised = _as_asked(serialised, pending)
                        del pending[serialised]
                    yield serialised, entity if is_found else None
            if not response.deferred and pending:
                raise RuntimeError(
                    f"the server answered a look-up without {len(pending)} of {before} keys; "
                    "try these again"
                )
            fruitless = fruitless + 1 if len(pending) == before else 0
            if fruitless >= _MAX_DEFERRALS:
                raise RuntimeError(
                    f"the server deferred {before} keys {fruitless} times in a row; try these again"
                )

    def commit(self, mutations: Iterable[Mapping[str, bytes]]) -> None:
        """Commit mutations outside of a transaction.

        Args:
            mutations: the serialised message of each, by the name of its operation.

        Raises:
            As :meth:`look_up`.
        """
        head = self._request(_CommitRequest)
        head.mode = _NON_TRANSACTIONAL
        if sends_bytes(self._api):
            self._send("commit", CommitBytes.joined(head, *mutation_parts(mutations)))
            return
        # Not the request as a whole, which can be nested too deep to be parsed.
        for fields in mutations:
            append_mutation(head.mutations, fields)
        self._send("commit", wrapped(datastore_pb2.CommitRequest, head))

    def complete(self, keys: Iterable[Key]) -> list[Key]:
        """Return partial keys with ids that the server allocates for them.

        Raises:
            As :meth:`look_up`.
        """
        partial = list(keys)
        request = self._request(_AllocateIdsRequest)
        request.keys.extend(map(key_message, partial))
        message = wrapped(datastore_pb2.AllocateIdsRequest, request)
        allocated = self._send("allocate_ids", message).keys
        return [
            key.completed_key(entity_pb2.Key.pb(complete).path[-1].id)
            for key, complete in zip(partial, allocated, strict=True)
        ]

    def _request(self, kind: Any) -> Any:
        # A client without a database has None or the empty string.
        return kind(project_id=self._client.project, database_id=self._client.database or "")

    def _send(self, method: str, request: Any) -> Any:
        if not sends_bytes(self._api) and type(request) in REQUESTS:
            request = request._whole()
        # Retried here: the client over HTTP retries requests that got no response, and no others.
        send = functools.partial(
            getattr(self._api, method),
            request=request,
            retry=None,
            **self._timeout,
        )
        cancellation = cancellation_of_thread()
        if cancellation is None:
            return self._send_here(send)

        def attempt() -> Any:
            cancellation.check()
            return send()

        return self._retry(attempt)()

    def _send_here(self, send: Callable[[], Any]) -> Any:
        """Send a request in the thread of the caller, where signal handlers may run."""
        handled = sys.exc_info()[1]

        def check(error: Exception) -> None:
            interruption = error_of_handler(error, handled)
            if interruption is not None:
                raise _Interrupted(interruption)

        def attempt() -> Any:
            try:
                return send()
            except Exception as error:
                check(error)
                raise

        try:
            # Checked again before the next attempt: a handler may raise at the borders of this one.
            return self._retry(attempt, on_error=check)()
        except _Interrupted as interrupted:
            interruption = interrupted.error
        raise interruption
