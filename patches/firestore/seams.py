"""The seams of google-cloud-firestore: the API object of a client, conversions of responses.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.registry import Seam, replacing
from lazyentity.patches.spec import ClientSpec
from lazyentity.patches.upstream import AttributePath

# Both are also parsed by tools/clients.py.
DISTRIBUTION: Final = "google-cloud-firestore"
SUPPORTED_VERSIONS: Final = ">=2.20.0,<2.35"

_PACKAGE = "google.cloud.firestore_v1"

# The client imports these functions by name.
_LOOKUPS = tuple(
    Seam(
        f"{_PACKAGE}.{module}",
        "_parse_batch_get",
        replacing("firestore.reads", "replace_lookup_conversion"),
    )
    for module in ("base_client", "client", "async_client")
)
_QUERIES = tuple(
    Seam(f"{_PACKAGE}.{module}", name, replacing("firestore.reads", replacement))
    for module in ("base_query", "query", "async_query", "vector_query", "async_vector_query")
    for name, replacement in (
        ("_query_response_to_snapshot", "replace_query_conversion"),
        ("_collection_group_query_response_to_snapshot", "replace_group_conversion"),
    )
)

_ENCODERS = tuple(
    Seam(
        f"{_PACKAGE}._helpers",
        name,
        replacing("firestore.writes", replacement),
        defers_to_foreign=True,
    )
    for name, replacement in (
        ("pbs_for_create", "replace_create"),
        ("pbs_for_set_no_merge", "replace_set"),
        ("pbs_for_set_with_merge", "replace_merge"),
        ("pbs_for_update", "replace_update"),
    )
)
_RPCS = tuple(
    Seam(
        f"{_PACKAGE}.services.firestore.{module}",
        f"{kind}.{method}",
        replacing("firestore.writes", replacement),
        defers_to_foreign=True,
    )
    for module, kind, replacement in (
        ("client", "FirestoreClient", "replace_rpc"),
        ("async_client", "FirestoreAsyncClient", "replace_async_rpc"),
    )
    for method in ("commit", "batch_write")
)

_SNAPSHOT = "DocumentSnapshot"
_BASE_DOCUMENT = f"{_PACKAGE}.base_document"
_GETTERS = tuple(
    Seam(
        _BASE_DOCUMENT,
        f"{_SNAPSHOT}.{name}",
        replacing("firestore.snapshots", f"replace_{name}"),
        defers_to_foreign=True,
    )
    for name in ("to_dict", "get")
)
_HELPERS = f"{_PACKAGE}._helpers"

CONVERSIONS: Final = (*_LOOKUPS, *_QUERIES, *_GETTERS)
"""The seams that deal with lazy responses, and with what is made of them."""

CLIENT: Final = ClientSpec(
    name="firestore",
    distribution=DISTRIBUTION,
    supported=SUPPORTED_VERSIONS,
    needs_native=True,
    waits_for_import=_PACKAGE,
    # The backend imports it.
    needs=("google.cloud.datastore",),
    wrapping="firestore.wrapping.wrap",
    reading=[
        *_GETTERS,
        AttributePath(_BASE_DOCUMENT, f"{_SNAPSHOT}.__init__"),
        *(
            AttributePath(_HELPERS, name)
            for name in (
                "decode_dict",
                "decode_value",
                "get_doc_id",
                "reference_value_to_document",
                "verify_path",
            )
        ),
        AttributePath(_BASE_DOCUMENT, "BaseDocumentReference.__init__"),
        AttributePath(f"{_PACKAGE}.base_collection", "BaseCollectionReference.document"),
        AttributePath(f"{_PACKAGE}.base_client", "BaseClient._document_path_helper"),
        *(
            AttributePath(f"{_PACKAGE}.{module}", name)
            for module, name in (
                ("base_client", "_get_reference"),
                ("base_client", "_path_helper"),
                ("field_path", "get_nested_value"),
                ("field_path", "parse_field_path"),
            )
        ),
    ],
    writing=[
        *_ENCODERS,
        *(
            AttributePath(_HELPERS, name)
            for name in ("encode_value", "encode_dict", "extract_fields", "set_field_value")
        ),
    ],
    seams=[
        *_ENCODERS,
        *_RPCS,
        *(
            Seam(
                f"{_PACKAGE}.{module}",
                f"{kind}._firestore_api",
                replacing("firestore.reads", "replace_api"),
            )
            for module, kind in (("client", "Client"), ("async_client", "AsyncClient"))
        ),
        Seam(
            f"{_PACKAGE}.watch",
            "Watch.on_snapshot",
            replacing("firestore.listeners", "replace_on_snapshot"),
        ),
        *CONVERSIONS,
    ],
    uses={
        # Responses with times, which all have, are lazy only if timestamps can be made natively.
        "google.api_core.datetime_helpers": ("DatetimeWithNanoseconds._nanosecond",),
        "google.api_core.gapic_v1.method": ("_GapicCallable._target",),
        _BASE_DOCUMENT: tuple(
            f"{_SNAPSHOT}.{name}" for name in ("_client", "_data", "_exists", "_reference")
        ),
        f"{_PACKAGE}.base_client": (
            "BaseClient._database_string",
            "BaseClient._document_path_helper",
            "_get_reference",
            "_path_helper",
        ),
        f"{_PACKAGE}.base_collection": tuple(
            f"BaseCollectionReference.{name}" for name in ("_client", "_path")
        ),
        f"{_PACKAGE}.field_path": ("get_nested_value", "parse_field_path", "render_field_path"),
        _HELPERS: ("GeoPoint", "decode_dict", "reference_value_to_document"),
        f"{_PACKAGE}.services.firestore.transports.base": ("FirestoreTransport._wrapped_methods",),
        f"{_PACKAGE}.watch": ("Watch._document_snapshot_cls", "Watch._firestore"),
        "proto.message": ("Message._pb",),
    },
)
