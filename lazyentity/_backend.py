"""The interface of a backend, and the choice of one, made when this module is imported.

:class:`Backend` lists the names that ``lazyentity.pure.backend`` and ``lazyentity.native.backend``
both have; this module has the names of the chosen one. The modules of :mod:`lazyentity.pure`
document them. :mod:`lazyentity.decoding` chooses its walk itself: a backend imports the client.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from lazyentity import _choice

if TYPE_CHECKING:
    from google.cloud.datastore.entity import Entity
    from google.cloud.datastore.key import Key

    from lazyentity.codec.contents import Changes, Contents


class _Shape(Protocol):
    """As :class:`lazyentity.pure.shapes.Shape`."""

    @property
    def ordinals(self) -> Any: ...
    @property
    def template(self) -> Any: ...


class _Mapping(Protocol):
    """A lazy mapping, beside the operations of dict; see :mod:`lazyentity.pure.mapping`.

    It never touches ``key``, ``exclude_from_indexes`` and ``_meanings``: these are attributes of
    :class:`~lazyentity.entity.LazyEntity`.
    """

    @classmethod
    def _from_raw(cls, raw: bytes) -> Any: ...
    @property
    def _raw(self) -> bytes: ...
    @property
    def _shape(self) -> _Shape: ...
    @property
    def _policy(self) -> Any: ...
    @_policy.setter
    def _policy(self, policy: Any) -> None: ...
    @property
    def _entity_counts(self) -> Any: ...
    @property
    def _deleted_attributes(self) -> frozenset[str]: ...
    @_deleted_attributes.setter
    def _deleted_attributes(self, names: frozenset[str]) -> None: ...
    def _instance_dict(self) -> dict[str, Any]: ...
    def _replace_instance_dict(self, attributes: dict[str, Any]) -> None: ...

    def _all_items(self) -> Iterable[tuple[str, Any]]: ...
    def _decode_all(self, operation: str) -> None: ...
    def _storage(self) -> dict[Any, Any]: ...
    def _changes(self) -> Changes: ...
    def _decoded(self) -> dict[str, Any]: ...
    def _plain_values(self, names: Iterable[str], copy: Callable[[Any], Any]) -> dict[str, Any]: ...
    def _read_on_request(self, name: str) -> Any: ...
    def _undecoded(self) -> list[Any]: ...

    def _serialised_values(self, names: Iterable[str]) -> list[bytes]: ...
    def _untouched(
        self, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> bytes: ...
    def _merge_untouched(
        self, target: Any, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> None: ...

    def _wire_cases(self, names: Iterable[str]) -> bytes: ...
    def _wire_entity(self) -> Entity | None: ...
    def _wire_excluded(self, names: Iterable[str] | None = None) -> set[str]: ...
    def _wire_key(self) -> Key | None: ...
    def _wire_meanings(self, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]: ...


class _Walk(Protocol):
    """A walk through values; see :mod:`lazyentity.pure.decoding`."""

    def is_plain(self, value: Any) -> bool: ...
    def decode(self, value: Any, validating: bool = False, levels: int = 3) -> bool: ...


class _Conversion(Protocol):
    """As :class:`lazyentity.pure.responses.Conversion`."""

    eager: bool
    is_of_query: bool


class _EntityBytes(Protocol):
    """As :class:`lazyentity.pure.responses.EntityBytes`."""

    @property
    def raw(self) -> bytes: ...
    @property
    def serialised_key(self) -> bytes | None: ...
    @property
    def _origin(self) -> Any: ...
    def to_entity(self) -> Any: ...
    def to_stock_entity(self) -> Any: ...


class _Retyped(Protocol):
    """As :class:`lazyentity.pure.responses.Retyped`."""

    def __init__(self, kind: Any) -> None: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...


class _ResultBytes(Protocol):
    """As :class:`lazyentity.pure.responses.ResultBytes`."""

    @property
    def entity(self) -> Any: ...
    def entity_key(self) -> Key | None: ...
    def serialised(self) -> bytes: ...


class _PropertyIndex(Protocol):
    """As :class:`lazyentity.pure.entityproto.PropertyIndex`."""

    @classmethod
    def of(cls, raw: bytes) -> Any: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def shape(self) -> _Shape: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    def fill(self, storage: dict[Any, Any]) -> None: ...
    def properties(self, name: str) -> list[bytes]: ...
    def value(self, name: str, text: bool) -> Any: ...
    def contents(self, name: str, refused: int, text: bool) -> Any: ...
    def take(
        self, storage: dict[Any, Any], stored: Any, name: str, refused: int | None, kind: Any
    ) -> Any: ...
    def raw_names(self) -> frozenset[str]: ...
    def has_meaning(self, number: int) -> bool: ...
    def fields(self, names: Iterable[str]) -> bytes: ...
    def forms(self) -> bytes: ...
    def entry_names(self) -> list[str]: ...
    def key(self) -> bytes: ...
    def path(self) -> Any: ...


class _DocumentReader(Protocol):
    """As :class:`lazyentity.pure.documentreader.DocumentReader`."""

    def __init__(
        self,
        *,
        geo_point: Callable[[float, float], Any],
        reference: Callable[[str, Any], Any],
        other_map: Callable[[bytes, Any], Any],
        timestamp: type[Any] | None,
    ) -> None: ...


class _DocumentBytes(Protocol):
    """As :class:`lazyentity.pure.documents.DocumentBytes`."""

    @classmethod
    def of(cls, raw: bytes, read_time_number: int, response: Any) -> Any: ...
    @classmethod
    def again(cls, raw: bytes, read_time_number: int, response: Any) -> Any: ...
    def is_in(self, collection: str) -> bool: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def name(self) -> str: ...
    @property
    def read_time(self) -> Any: ...
    @property
    def create_time(self) -> Any: ...
    @property
    def update_time(self) -> Any: ...
    def decoded_fields(self, reader: Any, client: Any) -> Any: ...
    def decoded_value(self, reader: Any, client: Any, names: Sequence[str]) -> Any: ...


class _DocumentWriter(Protocol):
    """As :class:`lazyentity.pure.documentencoder.DocumentWriter`."""

    def __init__(
        self,
        *,
        other: Callable[[Any], bytes],
        is_for_client: Callable[[Any], bool],
        geo_point: type[Any],
        references: tuple[type[Any], ...],
        timestamp: type[Any],
        vector: type[Any],
        write: type[Any],
    ) -> None: ...
    def update(self, name: str, fields: dict[str, Any]) -> bytes | None: ...


class Backend(Protocol):
    """The names of a backend. ``result_type`` and ``conversion`` are its own classes."""

    # As properties, which a class of either backend fits.
    @property
    def LazyMapping(self) -> type[_Mapping]: ...  # noqa: N802
    @property
    def Conversion(self) -> type[_Conversion]: ...  # noqa: N802
    @property
    def DocumentBytes(self) -> type[_DocumentBytes]: ...  # noqa: N802
    @property
    def DocumentReader(self) -> type[_DocumentReader]: ...  # noqa: N802
    @property
    def DocumentWriter(self) -> type[_DocumentWriter]: ...  # noqa: N802
    @property
    def EntityBytes(self) -> type[_EntityBytes]: ...  # noqa: N802
    @property
    def ResultBytes(self) -> type[_ResultBytes]: ...  # noqa: N802
    @property
    def Retyped(self) -> type[_Retyped]: ...  # noqa: N802
    @property
    def PropertyIndex(self) -> type[_PropertyIndex]: ...  # noqa: N802
    @property
    def Walk(self) -> type[_Walk]: ...  # noqa: N802

    def append_columns(
        self,
        entities: Iterable[Any],
        names: tuple[str, ...],
        columns: list[list[Any]],
        copy: Callable[[Any], Any],
        other: Callable[[Any], list[Any]],
        keys: list[Any] | None = None,
        key_of: Callable[[Any], Any] | None = None,
        refuse: Callable[[Any, str], object] | None = None,
    ) -> None: ...
    def complete_key_bytes(self, key: object, project: str, database: str) -> bytes | None: ...
    def convert_found(
        self,
        is_stock: bool,
        entities: dict[bytes, Any],
        results: tuple[Any, ...],
        pending: dict[bytes, Any],
    ) -> list[Any]: ...
    def is_json(self, value: Any) -> bool: ...
    def count_entity(
        self, entity: Any, response_counter: Any, is_of_query: bool = False
    ) -> Any: ...
    def fixed_width(self, values: list[Any]) -> tuple[type, bytearray] | None: ...
    def key_bytes(self, key: Key) -> bytes | None: ...
    def key_message(self, key: Key) -> Any: ...
    def serialise_entity(
        self, contents: Contents, contents_of: Callable[[Entity], Contents]
    ) -> tuple[bytes, bool]: ...
    def split_lookup(
        self, raw: bytes, conversion: Any, result_type: Any
    ) -> tuple[bytes, tuple[Any, ...], tuple[Any, ...]]: ...
    def split_query(
        self, raw: bytes, conversion: Any, result_type: Any
    ) -> tuple[bytes, tuple[Any, ...]]: ...
    def stock_from_raw(self, raw: bytes) -> Entity: ...
    def type_version(self, kind: type, /) -> int: ...
    def write_entity(
        self, target: Any, contents: Contents, contents_of: Callable[[Entity], Contents]
    ) -> bool: ...


NAMES: Final = tuple(name for name in vars(Backend) if not name.startswith("_"))
"""The names of a backend."""


def _load(name: str) -> Backend:
    return cast(Backend, importlib.import_module(f"lazyentity.{name}.backend"))


def _choose(requested: str) -> tuple[str, Backend, _choice.Obstacle | None]:
    """Return name and module of the requested backend; of the best one, if none is requested.

    The third item is the reason if the native backend does not serve.

    Raises:
        ImportError: if the requested backend cannot be loaded, or none at all.
    """
    if requested == "pure":
        return "pure", _load("pure"), _choice.obstacle()
    found = _choice.unsupported_interpreter()
    cause = None
    if found is None:
        try:
            return "native", _load("native"), None
        except ImportError as error:
            cause, found = error, _choice.failed_import(error)
    if requested == "native":
        raise _choice.unmet_request(found) from cause
    # First: if the pure backend fails as well, nothing serves.
    pure = _load("pure")
    if found.is_unexpected:
        warnings.warn(f"lazyentity: {found}; the pure backend serves", RuntimeWarning, stacklevel=2)
    return "pure", pure, found


if TYPE_CHECKING:
    import lazyentity.native.backend
    import lazyentity.pure.backend
    from lazyentity.native.backend import *  # noqa: F403  # the one that runs where it was built

    # mypy compares both backends with the Protocol here.
    _pure: Backend = lazyentity.pure.backend
    _native: Backend = lazyentity.native.backend
    backend: str
    obstacle: _choice.Obstacle | None
else:
    backend, _chosen, obstacle = _choose(_choice.requested_backend())
    globals().update({name: getattr(_chosen, name) for name in NAMES})
