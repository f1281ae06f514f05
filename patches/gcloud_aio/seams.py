"""The seams of gcloud-aio-datastore."""

from __future__ import annotations

from typing import Final

from lazyentity.patches.rest.seams import rest_client

# These are also parsed by tools/clients.py.
DISTRIBUTION: Final = "gcloud-aio-datastore"
SUPPORTED_VERSIONS: Final = ">=8,<9.3"
# CI tests this version, too.
VERSION_BETWEEN: Final = "9.1.0"

CLIENT: Final = rest_client(
    "gcloud-aio",
    DISTRIBUTION,
    SUPPORTED_VERSIONS,
    "gcloud.aio.datastore",
    session=("gcloud.aio.auth.session", "AioSession.post"),
    response=("aiohttp.client_reqrep", "ClientResponse.json"),
)
