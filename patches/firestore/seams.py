"""The seams of google-cloud-firestore, and the names that its fast paths go past.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.guard import AttributePath, Guard
from lazyentity.patches.registry import Seam, replacing
from lazyentity.patches.spec import ClientSpec

# Both are also parsed by tools/clients.py.
DISTRIBUTION: Final = "google-cloud-firestore"
SUPPORTED_VERSIONS: Final = ">=2.20.0,<2.35"

_PACKAGE = "google.cloud.firestore_v1"
_HELPERS = f"{_PACKAGE}._helpers"
_BASE_DOCUMENT = f"{_PACKAGE}.base_document"
_SNAPSHOT = "DocumentSnapshot"


def _seam(module: str, path: str, replacement: str) -> Seam:
    return Seam(f"{_PACKAGE}.{module}", path, replacing(*replacement.split(":")))


CONVERSIONS: Final = (
    # The client imports these functions by name.
    *(
        _seam(module, "_parse_batch_get", "firestore.snapshots:replace_lookup_conversion")
        for module in ("base_client", "client", "async_client")
    ),
    *(
        _seam(module, name, f"firestore.snapshots:{replacement}")
        for module in ("base_query", "query", "async_query", "vector_query", "async_vector_query")
        for name, replacement in (
            ("_query_response_to_snapshot", "replace_query_conversion"),
            ("_collection_group_query_response_to_snapshot", "replace_group_conversion"),
        )
    ),
    *(
        _seam("base_document", f"{_SNAPSHOT}.{name}", f"firestore.snapshots:replace_{name}")
        for name in ("to_dict", "get")
    ),
)
"""The seams that deal with lazy responses, and with the snapshots that are made of them."""

_ENCODERS = tuple(
    _seam("_helpers", name, f"firestore.writes:{replacement}")
    for name, replacement in (
        ("pbs_for_create", "replace_create"),
        ("pbs_for_set_no_merge", "replace_set"),
        ("pbs_for_set_with_merge", "replace_merge"),
        ("pbs_for_update", "replace_update"),
    )
)
_RPCS = tuple(
    _seam(f"services.firestore.{module}", f"{kind}.{method}", f"firestore.writes:{replacement}")
    for module, kind, replacement in (
        ("client", "FirestoreClient", "replace_rpc"),
        ("async_client", "FirestoreAsyncClient", "replace_async_rpc"),
    )
    for method in ("commit", "batch_write")
)


def _names(module: str, *names: str) -> list[AttributePath]:
    return [AttributePath(module, name) for name in names]


_READING = (
    *(seam for seam in CONVERSIONS if seam.module == _BASE_DOCUMENT),
    *_names(_HELPERS, "decode_dict", "decode_value", "get_doc_id", "reference_value_to_document"),
    *_names(_HELPERS, "verify_path"),
    *_names(_BASE_DOCUMENT, f"{_SNAPSHOT}.__init__"),
    # How a reference is made, and copied.
    *(
        AttributePath(_BASE_DOCUMENT, f"BaseDocumentReference.{name}")
        for name in ("__init__", "__copy__", "__deepcopy__")
    ),
    *(
        AttributePath(f"{_PACKAGE}.{module}", path)
        for module, path in (
            ("document", "DocumentReference.__init__"),
            ("async_document", "AsyncDocumentReference.__init__"),
            ("client", "Client.document"),
            ("async_client", "AsyncClient.document"),
            ("base_client", "BaseClient._document_path_helper"),
            ("base_client", "_get_reference"),
            ("base_client", "_path_helper"),
            ("base_collection", "BaseCollectionReference.document"),
            ("field_path", "get_nested_value"),
        )
    ),
    *(
        AttributePath(f"{_PACKAGE}.services.firestore.{module}", f"{kind}.{method}")
        for module, kind in (
            ("client", "FirestoreClient"),
            ("async_client", "FirestoreAsyncClient"),
        )
        for method in ("batch_get_documents", "run_query")
    ),
)
"""Functions of the modules that define them."""

_WRITING = (
    *_ENCODERS,
    *_RPCS,
    *_names(
        _HELPERS,
        *("encode_dict", "encode_value", "extract_fields", "set_field_value"),
        *(
            f"DocumentExtractor.{name}"
            for name in ("__init__", "_get_document_iterator", "_get_update_mask", "get_update_pb")
        ),
        *(
            f"DocumentExtractorForMerge.{name}"
            for name in ("__init__", "_apply_merge_all", "_get_update_mask", "apply_merge")
        ),
        *(
            f"DocumentExtractorForUpdate.{name}"
            for name in ("__init__", "_get_document_iterator", "_get_update_mask")
        ),
        *("GeoPoint.__init__", "GeoPoint.to_protobuf"),
    ),
    *_names(
        f"{_PACKAGE}.field_path",
        *("parse_field_path", "render_field_path"),
        *(
            f"FieldPath.{name}"
            for name in ("__init__", "from_api_repr", "from_string", "to_api_repr")
        ),
    ),
    *_names(f"{_PACKAGE}.vector", "Vector.__init__", "Vector.to_map_value"),
    *_names("google.api_core.datetime_helpers", "DatetimeWithNanoseconds.timestamp_pb"),
    *_names(_BASE_DOCUMENT, "BaseDocumentReference._document_path"),
)

GUARD: Final = Guard(
    [
        *CONVERSIONS,
        *_READING,
        *_WRITING,
        # Versions differ in the class that defines these.
        *_names(f"{_PACKAGE}.collection", "CollectionReference.document"),
        *_names(f"{_PACKAGE}.async_collection", "AsyncCollectionReference.document"),
        *(
            AttributePath(f"{_PACKAGE}.{module}", _SNAPSHOT)
            for module in ("base_client", "base_document", "document")
        ),
        *_names(
            _HELPERS,
            *("DocumentExtractor", "DocumentExtractorForMerge", "DocumentExtractorForUpdate"),
            *("GeoPoint", "Vector"),
        ),
        AttributePath(_HELPERS, "_datetime_to_pb_timestamp", "google.cloud._helpers"),
    ]
)
"""The names that the fast paths go past, of reads and writes alike."""

CLIENT: Final = ClientSpec(
    name="firestore",
    distribution=DISTRIBUTION,
    supported=SUPPORTED_VERSIONS,
    needs_native=True,
    waits_for_import=_PACKAGE,
    # The backend imports it.
    needs=("google.cloud.datastore",),
    wrapping="firestore.wrapping.wrap",
    guard=GUARD,
    seams=[
        *_ENCODERS,
        *_RPCS,
        *(
            Seam(
                f"{_PACKAGE}.{module}",
                f"{kind}._firestore_api",
                replacing("firestore.transports", "replace_api"),
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
        _BASE_DOCUMENT: (
            *("BaseDocumentReference._document_path_internal", "BaseDocumentReference._path"),
            *(f"{_SNAPSHOT}.{name}" for name in ("_client", "_data", "_exists", "_reference")),
        ),
        f"{_PACKAGE}.base_client": (
            "BaseClient._database_string",
            "BaseClient._document_path_helper",
        ),
        f"{_PACKAGE}.base_collection": ("BaseCollectionReference._client",),
        f"{_PACKAGE}.field_path": (
            *("get_nested_value", "parse_field_path", "render_field_path"),
            "_FIELD_PATH_MISSING_TOP",
        ),
        _HELPERS: ("GeoPoint", "decode_dict", "decode_value"),
        f"{_PACKAGE}.services.firestore.transports.base": ("FirestoreTransport._wrapped_methods",),
        f"{_PACKAGE}.vector": ("Vector._value",),
        f"{_PACKAGE}.watch": ("Watch._document_snapshot_cls", "Watch._firestore"),
        "proto.message": ("Message._pb",),
    },
)
