"""google.datastore.v1.Datastore, from serialised request to serialised response."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Hashable

import grpc
from google.protobuf.message import DecodeError

from .errors import Refusal, invalid_argument
from .keys import Scope
from .reads import Reads
from .schema import REQUESTS, Message, present
from .store import Store
from .writes import Writes

_MOST_RESPONSES = 64
"""Kept to answer repeated requests, so that a benchmark measures the client."""


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

    def __init__(self, *, batch_size: int | None = None, lookup_limit: int | None = None) -> None:
        """Make an empty one.

        ``batch_size`` caps the entities in a batch of a query, ``lookup_limit`` those that a Lookup
        answers before it defers the rest; None leaves both to the size of the response.

        Raises:
            ValueError: when a limit is less than one.
        """
        for name, limit in (("batch_size", batch_size), ("lookup_limit", lookup_limit)):
            if limit is not None and limit < 1:
                raise ValueError(f"{name} must be at least 1, not {limit}")
        self._store = Store()
        self._responses: dict[Hashable, bytes] = {}
        reads = Reads(self._store, batch_size=batch_size, lookup_limit=lookup_limit)
        writes = Writes(self._store)
        self._handlers: dict[str, Callable[[Message, Scope], bytes]] = {
            "Lookup": reads.lookup,
            "RunQuery": reads.run_query,
            "RunAggregationQuery": reads.run_aggregation_query,
            "BeginTransaction": writes.begin_transaction,
            "Commit": writes.commit,
            "Rollback": writes.rollback,
            "AllocateIds": writes.allocate_ids,
        }

    def call(self, method: str, request: bytes, project: str = "") -> bytes:
        """Answer one RPC: ``method`` by its gRPC name, messages serialised.

        ``project`` is the project that the transport names, if any. It replaces the project of the
        request.

        Raises:
            Refusal: when the RPC is refused, with INTERNAL when that is a defect here.
        """
        # The version is read before the request is handled: if a commit lands meanwhile, the
        # response is stored under a past version, and never found again.
        repeated = self._store.version, method, project, request
        response = self._responses.get(repeated)
        if response is not None:
            return response
        try:
            message = REQUESTS[method].FromString(request)
            response = self._handlers[method](message, _scope_of(message, project))
        except Refusal:
            raise
        except DecodeError as error:
            raise invalid_argument(f"a message cannot be parsed: {error}") from error
        except Exception as error:
            traceback.print_exc()
            raise Refusal(grpc.StatusCode.INTERNAL, repr(error)) from error
        if _is_repeatable(method, message):
            if len(self._responses) >= _MOST_RESPONSES:
                self._responses.clear()
            self._responses[repeated] = response
        return response
