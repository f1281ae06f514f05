"""References to documents that were read, made in one step where the client takes a dozen."""

from __future__ import annotations

from typing import Any

from google.cloud.firestore_v1 import (
    async_client,
    async_collection,
    async_document,
    base_collection,
    client,
    collection,
    document,
)

from lazyentity.patches.upstream import is_upstream

_new = object.__new__
_SEPARATOR = "/"


def _plain(client_module: Any, client_type: Any, document_module: Any, kind: Any) -> Any:
    """Return the functions by which a client makes a reference; None, if they do more than known.

    A new reference has a path and a client, and nothing more. Other functions that take part are
    among the conversions of :mod:`lazyentity.patches.firestore.seams`.
    """
    functions = client_type.document, kind.__init__
    is_own = is_upstream(functions[0], client_module) and is_upstream(functions[1], document_module)
    if is_own and vars(kind("a", "b", client=None)) == {"_path": ("a", "b"), "_client": None}:
        return functions
    return None


_KINDS: dict[Any, tuple[Any, Any]] = {
    client_type: (kind, _plain(client_module, client_type, document_module, kind))
    for client_module, client_type, document_module, kind in (
        (client, client.Client, document, document.DocumentReference),
        (
            async_client,
            async_client.AsyncClient,
            async_document,
            async_document.AsyncDocumentReference,
        ),
    )
}
"""By the type of a client: the type of its references, and the functions that make them."""

_COLLECTIONS: dict[Any, Any] = {
    kind: kind.document
    for module, kind in (
        (collection, collection.CollectionReference),
        (async_collection, async_collection.AsyncCollectionReference),
    )
    # Older versions inherit one of them.
    if is_upstream(kind.document, module) or is_upstream(kind.document, base_collection)
}


def _kind(owner: Any) -> Any:
    """Return the type of the references of a client; None, if the client has to make them."""
    kind, functions = _KINDS.get(type(owner), _UNKNOWN)
    if (
        functions is None
        or functions[0] is not type(owner).document
        or functions[1] is not kind.__init__
        or "document" in owner.__dict__
    ):
        return None
    return kind


_UNKNOWN: Any = None, None


def has_plain_references(collection: Any) -> bool:
    """Whether nobody sees when ``collection.document()`` is called for a document that was read."""
    made_by = _COLLECTIONS.get(type(collection))
    return (
        made_by is not None
        and made_by is type(collection).document
        and "document" not in collection.__dict__
        and _kind(collection._client) is not None
    )


def has_plain_path(collection: Any) -> bool:
    """Whether the client makes the path of a document of that of the collection as it is.

    It leaves out an empty parent and the name of the database, and splits parts with slashes.
    """
    path = collection._path
    return path[0] not in ("", "projects") and _SEPARATOR not in "".join(path)


def reference_in(of: Any, document_id: str) -> Any:
    """Return ``of.document(document_id)``, for an id of a document that was read.

    Args:
        of: a collection.
        document_id: without a slash.
    """
    if not has_plain_references(of) or not has_plain_path(of):
        return of.document(document_id)
    reference = _new(_kind(of._client))
    reference.__dict__ = {"_path": (*of._path, document_id), "_client": of._client}
    return reference


def reference_of(owner: Any, name: str) -> Any:
    """Return ``owner.document(name)``.

    Args:
        owner: a client.
        name: of a document, with its database.
    """
    kind = _kind(owner)
    if kind is not None:
        prefix = f"{owner._database_string}/documents/"
        path = tuple(name.removeprefix(prefix).split(_SEPARATOR))
        if name.startswith(prefix) and len(path) % 2 == 0:
            reference = _new(kind)
            reference.__dict__ = {"_path": path, "_client": owner}
            return reference
    return owner.document(name)
