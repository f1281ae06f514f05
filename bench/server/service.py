"""google.datastore.v1.Datastore, from serialised request to serialised response."""

from __future__ import annotations

import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Hashable

import grpc
from google.protobuf.message import DecodeError

from .errors import DatastoreError, invalid_argument
from .keys import Scope
from .reads import Reads
from .schema import REQUESTS, Message, present
from .store import Store
from .writes import Writes

MAX_BYTES = 64 * 1024 * 1024


class ResponseCache:
    """Responses by request, each good for one version of the store only.

    Bounded in bytes, the least recently used dropped first. May be used from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[int, bytes]] = OrderedDict()
        self._bytes = 0

    def get(self, request: Hashable, version: int) -> bytes | None:
        """The response to ``request`` at that version of the store, None when there is none."""
        with self._lock:
            entry = self._entries.get(request)
            if entry is None or entry[0] != version:
                return None
            self._entries.move_to_end(request)
            return entry[1]

    def put(self, request: Hashable, version: int, response: bytes) -> None:
        """Keep a response that was computed from that version of the store, or from a later one."""
        with self._lock:
            replaced = self._entries.pop(request, None)
            if replaced is not None:
                self._bytes -= len(replaced[1])
            self._entries[request] = version, response
            self._bytes += len(response)
            while self._bytes > MAX_BYTES:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._bytes -= len(dropped)


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
        reads = Reads(self._store, batch_size=batch_size, lookup_limit=lookup_limit)
        writes = Writes(self._store, trusting=trusting)
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
