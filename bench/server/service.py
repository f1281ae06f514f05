"""google.datastore.v1.Datastore, from serialised request to serialised response."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable

import grpc
from google.protobuf.message import DecodeError

from .cache import ResponseCache
from .errors import DatastoreError, invalid_argument
from .keys import Scope
from .reads import Reads
from .schema import REQUESTS, Message, present
from .store import Store
from .transactions import Transactions
from .writes import Writes


def _scope_of(message: Message, project: str) -> Scope:
    named = message.project_id or project
    if not named:
        raise invalid_argument("a request must name its project")
    if project and named != project:
        raise invalid_argument(f"the request is for project {named!r}, sent to that of {project!r}")
    return Scope(named, message.database_id)


def _is_repeatable(method: str, message: Message) -> bool:
    """Whether the same request has the same answer for as long as nothing is committed."""
    return (
        method in ("Lookup", "RunQuery")
        and not {"transaction", "new_transaction"} & present(message.read_options)
        and "explain_options" not in present(message)
    )


class DatastoreService:
    """A Datastore in memory. One object serves all transports; any thread may call it."""

    def __init__(
        self,
        *,
        batch_size: int | None = None,
        lookup_limit: int | None = None,
        latency: float = 0.0,
        trusting: bool = False,
    ) -> None:
        """Make an empty one.

        ``batch_size`` caps the entities in a batch of a query, ``lookup_limit`` those that a Lookup
        answers before it defers the rest; None leaves both to the size of the response. Every
        answer waits for ``latency`` seconds. If ``trusting``, entities are stored without being
        parsed.

        Raises:
            ValueError: when a limit is less than one.
        """
        self._latency = latency
        for name, limit in (("batch_size", batch_size), ("lookup_limit", lookup_limit)):
            if limit is not None and limit < 1:
                raise ValueError(f"{name} must be at least 1, not {limit}")
        self._store = Store()
        self._cache = ResponseCache()
        transactions = Transactions(self._store)
        reads = Reads(self._store, transactions, batch_size=batch_size, lookup_limit=lookup_limit)
        writes = Writes(self._store, transactions, trusting=trusting)
        self._handlers: dict[str, Callable[[Message, Scope], bytes]] = {
            "Lookup": reads.lookup,
            "RunQuery": reads.run_query,
            "RunAggregationQuery": reads.run_aggregation_query,
            "BeginTransaction": writes.begin_transaction,
            "Commit": writes.commit,
            "Rollback": writes.rollback,
            "AllocateIds": writes.allocate_ids,
            "ReserveIds": writes.reserve_ids,
        }

    def call(self, method: str, request: bytes, project: str = "") -> bytes:
        """Answer one RPC: ``method`` by its gRPC name, messages serialised.

        ``project`` is the project that the transport names, if any. It replaces the project of the
        request.

        Raises:
            DatastoreError: when the RPC is refused, with INTERNAL when that is a defect here.
        """
        if self._latency:
            time.sleep(self._latency)
        try:
            return self._call(method, request, project)
        except DatastoreError:
            raise
        except Exception as error:
            traceback.print_exc()
            raise DatastoreError(grpc.StatusCode.INTERNAL, repr(error)) from error

    def _call(self, method: str, request: bytes, project: str) -> bytes:
        # Read before the request is handled: if a commit lands meanwhile, the response is stored
        # under a past version, and never found again.
        version = self._store.version
        cache_key = (method, project, request)
        cached = self._cache.get(cache_key, version)
        if cached is not None:
            return cached
        try:
            message = REQUESTS[method].FromString(request)
        except DecodeError as error:
            raise invalid_argument(f"the request is not a {method}Request: {error}") from error
        response = self._handlers[method](message, _scope_of(message, project))
        if _is_repeatable(method, message):
            self._cache.put(cache_key, version, response)
        return response
