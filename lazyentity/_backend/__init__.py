"""The chosen backend: importing this package chooses it, and has its names.

:class:`lazyentity._backend.protocols.Backend` lists the names that ``lazyentity.pure.backend`` and
``lazyentity.native.backend`` both have. A client that needs the native backend imports the other
names of :class:`~lazyentity._backend.protocols.NativeBackend` from there.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, cast

from lazyentity import _environment
from lazyentity._backend.protocols import Backend


def _load(name: str) -> Backend:
    return cast(Backend, importlib.import_module(f"lazyentity.{name}.backend"))


def _choose(requested: str) -> tuple[str, Backend, _environment.Obstacle | None]:
    """Return name and module of the requested backend; of the best one, if none is requested.

    The third item is the reason if the native backend does not serve.

    Raises:
        ImportError: if the requested backend cannot be loaded, or none at all.
    """
    if requested == "pure":
        return "pure", _load("pure"), _environment.obstacle()
    # A module that was not built may be imported later than the others.
    found = _environment.obstacle()
    cause = None
    if found is None:
        try:
            return "native", _load("native"), None
        except ImportError as error:
            cause, found = error, _environment.failed_import(error)
    if requested == "native":
        raise _environment.unmet_request(found) from cause
    # First: if the pure backend fails as well, nothing serves.
    pure = _load("pure")
    if found.is_unexpected:
        warnings.warn(f"lazyentity: {found}; the pure backend serves", RuntimeWarning, stacklevel=2)
    return "pure", pure, found


if TYPE_CHECKING:
    import lazyentity.pure.backend
    from lazyentity.pure.backend import *  # noqa: F403  # the native one is compiled

    # mypy compares the backend with its protocol here.
    _pure: Backend = lazyentity.pure.backend
    backend: str
    obstacle: _environment.Obstacle | None
else:
    backend, _chosen, obstacle = _choose(_environment.requested_backend())
    EntityBytes = _chosen.EntityBytes
    EntityIterator = _chosen.EntityIterator
    EntityReader = _chosen.EntityReader
    LazyMapping = _chosen.LazyMapping
    ReadRpc = _chosen.ReadRpc
    ResultBytes = _chosen.ResultBytes
    ViewAs = _chosen.ViewAs
    append_columns = _chosen.append_columns
    complete_key_bytes = _chosen.complete_key_bytes
    convert_found = _chosen.convert_found
    fixed_width = _chosen.fixed_width
    is_json = _chosen.is_json
    is_well_formed = _chosen.is_well_formed
    key_bytes = _chosen.key_bytes
    key_message = _chosen.key_message
    mutation_parts = _chosen.mutation_parts
    serialise_entity = _chosen.serialise_entity
    split_lookup = _chosen.split_lookup
    split_query = _chosen.split_query
    stock_from_raw = _chosen.stock_from_raw
    write_entity = _chosen.write_entity
