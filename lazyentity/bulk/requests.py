"""The requests of bulk calls, sent through the API object of the client, each retried by itself."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import grpc
import requests
from google.api_core.exceptions import Conflict, GatewayTimeout, GoogleAPIError, ServiceUnavailable
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import GoogleAuthError
from google.cloud import datastore
from google.cloud.datastore._http import HTTPDatastoreAPI
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2, entity as entity_pb2
from google.protobuf.message import DecodeError

from lazyentity._backend import complete_key_bytes as direct_complete_key_bytes, mutation_parts
from lazyentity.codec import shadow
from lazyentity.codec.describing import describe_type, safe_repr
from lazyentity.codec.keys import DIRECT
from lazyentity.patches.api.requests import CommitBytes, LookupBytes, append_mutation, wrapped
from lazyentity.patches.api.transports import LazyDatastoreClient
from lazyentity.patches.datastore.wrapping import reading

MAX_KEYS: Final = 1_000  # of one look-up

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


class UnansweredKeys(RuntimeError):
    """The server answered a look-up without an error, but not for all keys."""


REQUEST_ERRORS: Final = (
    GoogleAPIError,
    GoogleAuthError,
    grpc.RpcError,
    # Of requests and of sockets.
    OSError,
    DecodeError,
    UnansweredKeys,
)
"""The errors of a request; they are reported with the keys that it concerns."""

_LookupRequest: Any = datastore_pb2.LookupRequest.pb()
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()
_AllocateIdsRequest: Any = datastore_pb2.AllocateIdsRequest.pb()
_EVENTUAL = int(datastore_pb2.ReadOptions.ReadConsistency.EVENTUAL)
_NON_TRANSACTIONAL = int(datastore_pb2.CommitRequest.Mode.NON_TRANSACTIONAL)


def serialised_key(key: Any) -> bytes:
    """Return the serialised message of a key, always the same for equal keys."""
    return bytes(key.to_protobuf()._pb.SerializeToString())


class _Stopped(BaseException):
    """Ends a request that must not be sent any more. Policies of retrying let it pass."""


class Requests:
    """The requests of a bulk call, sent from any thread, and the checks of its arguments.

    Its arguments are those of the call, and the name of the function that was called.

    Raises:
        RuntimeError: inside a transaction.
        ValueError: ``concurrency`` is less than 1.
    """

    def __init__(
        self,
        client: datastore.Client,
        function: str,
        concurrency: int,
        retry: Retry | None,
        timeout: float | None,
    ) -> None:
        self.client = client = reading(client)
        self.function = function
        self.refuse_in_transaction()
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, not {concurrency}")
        self.concurrency = concurrency
        self._retry = RETRY if retry is None else retry
        self._timeout = {} if timeout is None else {"timeout": timeout}
        self._project, self._database = client.project, client.database or ""
        self._direct = direct_complete_key_bytes if DIRECT else lambda *_: None
        # Here, because the client makes both on first use, and several threads would make several.
        self._api = client._datastore_api
        if isinstance(self._api, HTTPDatastoreAPI):
            self._api.client._http  # noqa: B018  # a property
        self._takes_bytes = type(self._api) is LazyDatastoreClient
        self._is_stopped = False

    def refuse_in_transaction(self) -> None:
        """Raise RuntimeError if the thread is inside a transaction of the client."""
        if self.client.current_transaction is not None:
            raise RuntimeError(
                f"{self.function}() sends several requests, which no transaction can hold; call it "
                "outside of the transaction, or use the methods of the client"
            )

    def key_bytes(self, key: Key, *, is_complete: bool = True) -> bytes:
        """Serialise a key of the client's project and database; the same for equal keys.

        Raises:
            TypeError: it is no key.
            ValueError: it is another's; or partial, unless ``is_complete`` is False. Then the
                result is empty.
        """
        serialised: bytes | None = self._direct(key, self._project, self._database)
        if serialised is not None:
            return serialised
        if not isinstance(key, Key):
            raise TypeError(f"{self.function}() takes keys, not {describe_type(key)}")
        for name in ("project", "database"):
            theirs, ours = getattr(key, name), getattr(self.client, name)
            if (theirs or None) != (ours or None):
                raise ValueError(
                    f"{safe_repr(key)} is of the {name} {theirs!r}, and the client of {ours!r}"
                )
        if is_complete and key.is_partial:
            raise ValueError(
                f"{safe_repr(key)} has neither an id nor a name, so no entity can have it"
            )
        return b"" if key.is_partial else serialised_key(key)

    def stop(self) -> None:
        """Send nothing any more. Requests that were sent already go on in their threads."""
        self._is_stopped = True

    def look_up(self, keys: Collection[bytes], *, eventual: bool) -> tuple[list[Any], Exception]:
        """Look up 1 to 1,000 serialised keys, and those that the server defers again.

        Returns:
            The responses, and the error of keys that none of them answers.
        """
        head = self._request(_LookupRequest)
        if eventual:
            head.read_options.read_consistency = _EVENTUAL
        responses: list[Any] = []
        # Even a server that answers one key at a time need not be asked more often.
        for _ in range(MAX_KEYS):
            joined = LookupBytes.joined(head, shadow.LookupKeys(keys=keys).SerializeToString())
            try:
                response = self._send("lookup", joined if self._takes_bytes else joined._whole())
            except REQUEST_ERRORS as error:
                return responses, error
            responses.append(response)
            keys = [getattr(key, "_pb", key).SerializeToString() for key in response.deferred]
            if not keys:
                break
        return responses, UnansweredKeys(
            "the server answered a look-up without this key; look it up again"
        )

    def commit(self, mutations: Sequence[Mapping[str, bytes]]) -> None:
        """Commit mutations: the serialised message of each, by the name of its operation."""
        head = self._request(_CommitRequest)
        head.mode = _NON_TRANSACTIONAL
        if self._takes_bytes:
            self._send("commit", CommitBytes.joined(head, *mutation_parts(mutations)))
            return
        # Not the request as a whole, which can be nested too deep to be parsed.
        for fields in mutations:
            append_mutation(head.mutations, fields)
        self._send("commit", wrapped(datastore_pb2.CommitRequest, head))

    def complete(self, entities: Iterable[Entity]) -> None:
        """Give ids, which the server allocates, to entities with partial keys."""
        partial = [entity for entity in entities if entity.key.is_partial]
        if not partial:
            return
        request = self._request(_AllocateIdsRequest)
        request.keys.extend([entity.key.to_protobuf()._pb for entity in partial])
        message = wrapped(datastore_pb2.AllocateIdsRequest, request)
        allocated = self._send("allocate_ids", message).keys
        for entity, complete in zip(partial, allocated, strict=True):
            entity.key = entity.key.completed_key(entity_pb2.Key.pb(complete).path[-1].id)

    def _request(self, kind: Any) -> Any:
        return kind(project_id=self._project, database_id=self._database)

    def _send(self, method: str, request: Any) -> Any:
        # Retried here: the client over HTTP retries requests that got no response, and no others.
        send = functools.partial(
            getattr(self._api, method), request=request, retry=None, **self._timeout
        )

        def attempt() -> Any:
            if self._is_stopped:
                raise _Stopped
            return send()

        return self._retry(attempt)()
