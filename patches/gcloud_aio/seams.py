"""The seams of gcloud-aio-datastore."""

from __future__ import annotations

from typing import Final

from lazyentity.patches.rest.seams import rest_client

# Both are also parsed by tools/clients.py.
DISTRIBUTION: Final = "gcloud-aio-datastore"
SUPPORTED_VERSIONS: Final = ">=9.2,<9.3"

CLIENT: Final = rest_client("gcloud-aio", DISTRIBUTION, SUPPORTED_VERSIONS, "gcloud.aio.datastore")
