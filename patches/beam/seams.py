"""The seams of Apache Beam's connector: the DoFn that reads, its elements, their coder.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.guard import AttributePath, Guard
from lazyentity.patches.registry import Seam, replacing
from lazyentity.patches.spec import ClientSpec

# These are also parsed by tools/clients.py.
DISTRIBUTION: Final = "apache-beam"
SUPPORTED_VERSIONS: Final = ">=2.60,<2.78"
# CI tests this version, too.
VERSION_BETWEEN: Final = "2.68.0"
# The connector needs libraries that Beam itself does not.
DISTRIBUTION_EXTRA: Final = "gcp"
# Beam needs protobuf below 7.
OWN_ENVIRONMENT: Final = True

_CONNECTOR = "apache_beam.io.gcp.datastore.v1new.datastoreio"
_TYPES = "apache_beam.io.gcp.datastore.v1new.types"

_CONVERSION = Seam(
    _TYPES,
    "Entity.from_client_entity",
    replacing("beam.elements", "replace_from_client_entity"),
)
_QUERY_FN = Seam(
    _CONNECTOR, "ReadFromDatastore._QueryFn", replacing("beam.reads", "replace_query_fn")
)
_GET_CODER = Seam(
    "apache_beam.coders.typecoders",
    "CoderRegistry.get_coder",
    replacing("beam.coders", "replace_get_coder"),
)

CLIENT: Final = ClientSpec(
    name="beam",
    distribution=DISTRIBUTION,
    supported=SUPPORTED_VERSIONS,
    needs_native=True,
    waits_for_import=_CONNECTOR,
    over=("datastore",),
    guard=Guard(
        (
            _CONVERSION,
            AttributePath(_TYPES, "Entity.__init__"),
            AttributePath(_TYPES, "Entity.to_client_entity"),
            AttributePath(_TYPES, "Key.from_client_key"),
        ),
        (_QUERY_FN, _GET_CODER),
    ),
    seams=[_CONVERSION, _QUERY_FN, _GET_CODER],
    uses={_CONNECTOR: ("ReadFromDatastore._SplitQueryFn",)},
)
