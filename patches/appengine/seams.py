"""The seams of App Engine's bundled client of Datastore: the conversion of entities, and its calls.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.appengine.db.seams import PART as DB
from lazyentity.patches.appengine.ndb.seams import PART as NDB
from lazyentity.patches.guard import AttributePath, Guard
from lazyentity.patches.registry import Seam, calling, replacing
from lazyentity.patches.spec import ClientSpec

# These are also parsed by tools/clients.py.
DISTRIBUTION: Final = "appengine-python-standard"
SUPPORTED_VERSIONS: Final = ">=1.1,<3.2"
# CI tests this version, too.
VERSION_BETWEEN: Final = "2.0.1"
# The client needs urllib3 below 2.
OWN_ENVIRONMENT: Final = True

_DATASTORE = "google.appengine.api.datastore"
_TYPES = "google.appengine.api.datastore_types"

_CONVERSION = Seam(
    _DATASTORE, "Entity._FromPb", replacing("appengine.conversion", "replace_from_pb")
)

CLIENT: Final = ClientSpec(
    name="appengine",
    distribution=DISTRIBUTION,
    supported=SUPPORTED_VERSIONS,
    needs_native=True,
    waits_for_import=_DATASTORE,
    needs=("google.cloud.datastore",),
    conversion=_CONVERSION,
    guard=Guard(
        [
            AttributePath(_TYPES, "FromPropertyPb"),
            AttributePath(_TYPES, "ValidateReadProperty"),
        ],
        [_CONVERSION],
    ),
    seams=[
        _CONVERSION,
        Seam(
            "google.appengine.datastore.datastore_rpc",
            "BaseConnection._make_rpc_call",
            calling("appengine.conversion", "make_rpc_call"),
        ),
    ],
    uses={
        _DATASTORE: (
            "Entity._Entity__key",
            "Entity._Entity__projection",
            "Entity._Entity__unindexed_properties",
            "Entity._ToPb",
            "_MAX_INDEXED_PROPERTIES",
        ),
        _TYPES: ("Key._FromPb", "_VALIDATE_PROPERTY_VALUES"),
    },
    parts=(DB, NDB),
)
