"""The loopback server of documents, in this process."""

from __future__ import annotations

import datetime
import functools
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from lazyentity.bench.server.firestore import FirestoreService, encoded, start_firestore

_START = datetime.datetime(2024, 5, 6, 7, 8, 9, 123_456)


class Fields(dict[str, Any]):
    """Fields of a document that is stored again and again: they are encoded once."""

    @functools.cached_property
    def serialised(self) -> bytes:
        """The document of these fields alone."""
        return encoded(self)


class DocumentServer(FirestoreService):
    """A server whose times are the same in each run.

    Attributes:
        calls: the names of the methods called.
        port: while it runs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.port = 0

    def __enter__(self) -> DocumentServer:
        self._server, self.port = start_firestore(self, 0)
        return self

    def __exit__(self, *error: object) -> None:
        self._server.stop(None).wait()

    def clear(self) -> None:
        """Forget all documents and calls; the clock starts anew."""
        with self._changed:
            self.documents.clear()
            self.calls.clear()
            self._last = 0

    def put(self, path: str, fields: dict[str, Any]) -> None:
        """Store a document of Python values; ``path`` is that of the client's reference."""
        raw = fields.serialised if isinstance(fields, Fields) else encoded(fields)
        self.store(f"projects/p/databases/(default)/documents/{path}", raw)

    def now(self) -> Timestamp:
        """A time after all times given before."""
        with self._changed:
            self._last += 1
            now = Timestamp()
            now.FromDatetime(_START + datetime.timedelta(milliseconds=self._last))
            now.nanos += 789
            return now

    def handlers(self) -> dict[str, tuple[Any, Any, Any]]:
        """The methods, each of which is noted."""

        def noted(name: str, method: Any) -> Any:
            def call(request: Any, context: Any) -> Any:
                self.calls.append(name)
                return method(request, context)

            return call

        return {
            name: (make, noted(name, method), request)
            for name, (make, method, request) in super().handlers().items()
        }

    def _names(self, parent: str, query: Any) -> list[str]:
        # Vectors have no order here: only the client's way of the results is tested.
        plain = type(query)()
        plain.CopyFrom(query)
        plain.ClearField("find_nearest")
        return super()._names(parent, plain)
