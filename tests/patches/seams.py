"""The client's attributes on the way of reads and writes, now and before any patch."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore import batch as batch_module
from google.cloud.datastore import client as client_module
from google.cloud.datastore import helpers
from google.cloud.datastore import query as query_module
from google.cloud.datastore._http import HTTPDatastoreAPI
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.services.datastore.async_client import DatastoreAsyncClient
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.services.datastore.transports.grpc_asyncio import (
    DatastoreGrpcAsyncIOTransport,
)

_NAMESPACES: tuple[Any, ...] = (
    helpers,
    batch_module,
    batch_module.Batch,
    client_module,
    client_module.Client,
    query_module,
    query_module.Query,
    query_module.Iterator,
    Key,
    HTTPDatastoreAPI,
    DatastoreAsyncClient,
    DatastoreClient,
    DatastoreGrpcAsyncIOTransport,
    DatastoreGrpcTransport,
)


# Python adds these when a module raises a warning, when the annotations of a class are read, and
# when an instance is pickled.
_ADDED_BY_PYTHON = frozenset(("__warningregistry__", "__annotations__", "__slotnames__"))


def standing() -> dict[tuple[str, str], int]:
    """Return every attribute of the client's modules and classes on the way of reads and writes.

    They are told apart by identity: the values are ids, which each test compares twice.
    """
    return {
        (namespace.__name__, name): id(value)
        for namespace in _NAMESPACES
        for name, value in vars(namespace).items()
        if name not in _ADDED_BY_PYTHON
    }


ORIGINALS = standing()
_KEPT = [[*vars(namespace).values()] for namespace in _NAMESPACES]
"""The originals live on: no other object has the id of an original."""
