"""The seams of gcloud-rest-datastore."""

from __future__ import annotations

from typing import Final

from lazyentity.patches.rest.seams import rest_client

# These are also parsed by tools/clients.py.
DISTRIBUTION: Final = "gcloud-rest-datastore"
SUPPORTED_VERSIONS: Final = ">=8,<9.3"
# CI tests this version, too.
VERSION_BETWEEN: Final = "9.1.0"

CLIENT: Final = rest_client(
    "gcloud-rest",
    DISTRIBUTION,
    SUPPORTED_VERSIONS,
    "gcloud.rest.datastore",
    session=("gcloud.rest.auth.session", "SyncSession.post"),
    response=("requests.models", "Response.json"),
)
