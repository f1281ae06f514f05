"""The seams of gcloud-rest-datastore."""

from __future__ import annotations

from typing import Final

from lazyentity.patches.rest.seams import rest_client

# Both are also parsed by tools/clients.py.
DISTRIBUTION: Final = "gcloud-rest-datastore"
SUPPORTED_VERSIONS: Final = ">=9.2,<9.3"

CLIENT: Final = rest_client(
    "gcloud-rest", DISTRIBUTION, SUPPORTED_VERSIONS, "gcloud.rest.datastore"
)
