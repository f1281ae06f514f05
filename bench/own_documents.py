"""The comparison on the user's own documents of Firestore, which are only read."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.types import firestore as types

import lazyentity
from lazyentity.bench import own, verify
from lazyentity.bench.clients.firestore import HOST, receiving
from lazyentity.bench.harness import Case, Comparison

_READS = ("0", "1", "4", "half", "all")


@dataclass(frozen=True)
class Source:
    """The documents to read: up to ``limit`` of a collection; the rest is as in the client.

    The client connects to the emulator that ``FIRESTORE_EMULATOR_HOST`` names if that is set, with
    its default project and without credentials. Else it connects to the service, with the default
    credentials.
    """

    collection: str
    limit: int
    project: str | None = None
    database: str | None = None
    client = "firestore"

    def __str__(self) -> str:
        where = os.environ.get(HOST, "the Firestore service")
        return f"collection {self.collection!r} from {where}"

    @property
    def description(self) -> str:
        """The source in the results."""
        return f"documents of {self}"

    def _responses(self) -> tuple[Any, list[bytes]]:
        """A client, and the responses to the query."""
        client = firestore.Client(
            project=self.project or own.emulator_project(HOST),
            database=self.database,
            credentials=AnonymousCredentials() if HOST in os.environ else None,
        )
        query = client.collection(self.collection).limit(self.limit)
        request = {"parent": client._database_string + "/documents"}
        responses = client._firestore_api.run_query(
            request=request | {"structured_query": query._to_protobuf()},
            metadata=client._rpc_metadata,
            timeout=own.RPC_SECONDS,
            retry=own.NO_RETRY,
        )
        kind: Any = types.RunQueryResponse
        return client, [kind.serialize(one) for one in responses if "document" in one]

    def fetch(self) -> own.Fetched:
        """Read the documents.

        Raises:
            own.Unreachable: there is no answer within 5 seconds, there are no credentials, the
                server answers with an error, or it has no such document.
        """
        with own.reading(self):
            client, raw = self._responses()
        if not raw:
            raise own.Unreachable(f"there is nothing of {self}")
        query = lazyentity.wrap(client).collection(self.collection).limit(self.limit)
        collection = client.collection(self.collection)
        return own.Fetched(self, raw, query.stream, functools.partial(_cases, collection))


def _cases(collection: Any, raw: Sequence[bytes], names: Sequence[str]) -> list[Case]:
    kind: Any = types.RunQueryResponse
    every = [tuple(sorted(kind.pb().FromString(one).document.fields)) for one in raw]
    compared = functools.partial(_comparison, collection, raw, every)
    return own.make_cases(every, names, _READS, compared)


def _comparison(
    collection: Any,
    raw: Sequence[bytes],
    every: Sequence[Sequence[str]],
    wanted: Sequence[Sequence[str]] | None,
) -> Comparison:
    """Both ways from responses to snapshots; all fields are read by ``to_dict()``."""
    whole = wanted is None or list(wanted) == list(every)
    paths = [[FieldPath(name).to_api_repr() for name in names] for names in wanted or ()]

    def read(snapshots: list[Any]) -> list[Any]:
        if whole:
            for snapshot in snapshots:
                snapshot.to_dict()
        else:
            for snapshot, chosen in zip(snapshots, paths, strict=True):
                for path in chosen:
                    snapshot.get(path)
        return snapshots

    def check(stock: list[Any], lazy: list[Any]) -> None:
        read, lazy_read = ([one.to_dict() for one in of] for of in (stock, lazy))
        verify.check_same(read, lazy_read, "documents")

    return receiving(raw, read, check, collection)
