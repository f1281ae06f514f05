"""The floor of the end-to-end measurement: the lazy client's own path, ending in undecoded bytes.

Everything is the lazy client's own (request building, retries, timeouts, the channel, paging),
except that the response deserialiser keeps the bytes as they came. No decoder can be faster.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from google.cloud import datastore
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import datastore as datastore_types
from google.cloud.datastore_v1.types import query as query_types

from lazyentity.patches.api.requests import serialiser
from lazyentity.patches.api.transports import LazyDatastoreClient

# The parts of a response that the client reads, as in a complete response that found nothing.
# Without any answer the client would stop halfway.
_NOTHING_FOUND = SimpleNamespace(
    found=(),
    missing=(),
    deferred=(),
    transaction=b"",
    explain_metrics=None,
    batch=SimpleNamespace(
        entity_results=(),
        skipped_results=0,
        end_cursor=b"",
        more_results=query_types.QueryResultBatch.MoreResultsType.NO_MORE_RESULTS,
    ),
)


class BytesTransport(DatastoreGrpcTransport):
    """The client's transport, whose reading calls end in bytes: ``raw`` has the last ones."""

    raw: bytes = b""

    def _keep(self, raw: bytes) -> Any:
        self.raw = raw
        return _NOTHING_FOUND

    def _stub(self, method: str, serialize: Callable[[Any], bytes]) -> Any:
        if method not in self._stubs:
            # The channel with the logging interceptor came with google-cloud-datastore 2.21.
            channel = getattr(self, "_logged_channel", self.grpc_channel)
            self._stubs[method] = channel.unary_unary(
                f"/google.datastore.v1.Datastore/{method}",
                request_serializer=serialiser(serialize),
                response_deserializer=self._keep,
            )
        return self._stubs[method]

    @property
    def lookup(self) -> Any:
        """The Lookup call."""
        return self._stub("Lookup", datastore_types.LookupRequest.serialize)

    @property
    def run_query(self) -> Any:
        """The RunQuery call."""
        return self._stub("RunQuery", datastore_types.RunQueryRequest.serialize)


def answer_in_bytes(client: datastore.Client) -> BytesTransport:
    """Give ``client``, which uses gRPC, a transport that decodes nothing, and return the transport.

    The client's reads go out as a patched client's do, and find nothing.
    """
    transport = BytesTransport(channel=client._datastore_api.transport.grpc_channel)
    client._datastore_api_internal = LazyDatastoreClient(
        transport=transport, client_info=client._client_info
    )
    return transport
