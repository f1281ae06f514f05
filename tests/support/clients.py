"""Clients of a server on this machine, made with the options that any user could give."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, Final
from unittest import mock

from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.environment_vars import GCD_HOST

PROJECT: Final = "lazyentity-tests"

TRANSPORTS: Final = ("grpc", "http")

# Version 2.20 came with explained queries, and with transactions that their first read begins.
EXPLAINS: Final = hasattr(datastore, "ExplainOptions")
BEGINS_LATER: Final = hasattr(helpers, "get_transaction_options")


def make_client(
    port: int, transport: str, kind: type[datastore.Client] = datastore.Client, **options: Any
) -> datastore.Client:
    """Return a stock client of the server at ``port``, regardless of the environment.

    Args:
        port: of a Datastore server on 127.0.0.1 that speaks ``transport``.
        transport: one of :data:`TRANSPORTS`.
        kind: the class of the client.
        options: further arguments of ``kind``.
    """
    with mock.patch.dict(os.environ):
        # A client made under this variable refuses explicit credentials.
        os.environ.pop(GCD_HOST, None)
        return kind(
            **{"project": PROJECT, **options},
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": f"http://127.0.0.1:{port}"},
            _use_grpc=transport == "grpc",
        )


def close(client: datastore.Client) -> None:
    """Close the connections of a client. It can be of a test's own make, or never used."""
    api = client._datastore_api_internal
    if client._use_grpc and api is not None:
        # A test may have put in an API object that has nothing to close.
        with suppress(AttributeError):
            api.transport.close()
    elif client._http_internal is not None:
        client._http_internal.close()
