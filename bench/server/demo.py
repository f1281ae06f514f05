"""The orders that ``server --demo`` and ``demo`` begin with, as entities or as documents."""

from __future__ import annotations

from typing import Any

import grpc
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import datastore as types

from lazyentity.bench.entities import KIND, orders

from .datastore import DatastoreService

PROJECT = "demo"
ENTITIES, PROPERTIES = 300, 100
COLLECTION = "orders"
DESCRIPTION = f"{ENTITIES} orders of {PROPERTIES} properties, kind {KIND}, project {PROJECT}"
DOCUMENTS_DESCRIPTION = (
    f"{ENTITIES} documents of {PROPERTIES} fields, collection {COLLECTION}, project {PROJECT}"
)


def load(service: DatastoreService) -> None:
    """Store 300 orders of 100 properties: kind ``Order``, with ``amount``, ``status`` and more."""
    request: Any = types.CommitRequest.pb()(project_id=PROJECT, mode="NON_TRANSACTIONAL")
    for order in orders(ENTITIES, PROPERTIES):
        pb = helpers.entity_to_protobuf(order)._pb
        pb.key.partition_id.project_id = PROJECT
        request.mutations.add().upsert.CopyFrom(pb)
    service.call("Commit", request.SerializeToString())


def start_firestore(port: int, is_loaded: bool) -> tuple[grpc.Server, int]:
    """Serve Firestore, which need not be installed for Datastore; returns the server and its port.

    Args:
        port: 0 takes a free one.
        is_loaded: whether it begins with the orders, as documents of the collection ``orders``.

    Raises:
        ImportError: google-cloud-firestore is not installed.
    """
    from . import firestore

    service = firestore.FirestoreService()
    if is_loaded:
        prefix = f"projects/{PROJECT}/databases/(default)/documents/{COLLECTION}"
        for number, order in enumerate(orders(ENTITIES, PROPERTIES), start=1):
            service.store(f"{prefix}/{number}", firestore.encoded(dict(order)))
    return firestore.start_firestore(service, port)
