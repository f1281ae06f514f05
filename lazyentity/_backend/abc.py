"""The interface of a backend, which both implement; the documentation of what they have in common.

:mod:`lazyentity.pure` documents the members without a text here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from lazyentity._backend.wireformats import DocumentBytes as _DocumentBytes
from lazyentity._backend.wireformats import DocumentReader as _DocumentReader
from lazyentity._backend.wireformats import DocumentWriter as _DocumentWriter
from lazyentity._backend.wireformats import PropertyIndex as _PropertyIndex
from lazyentity._backend.wireformats import Shape

if TYPE_CHECKING:
    from google.cloud.datastore.entity import Entity
    from google.cloud.datastore.key import Key

    from lazyentity.codec.encodable import Changes, EncodableEntity


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
    def _shape(self) -> Shape: ...
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


class _EntityFinder(Protocol):
    """A walk through values; see :mod:`lazyentity.pure.search`."""

    def is_plain(self, value: Any) -> bool: ...
    def decode(self, value: Any, validating: bool = False, levels: int = 3) -> bool: ...


class _EntityReader(Protocol):
    """As :class:`lazyentity.pure.responses.EntityReader`."""

    def __init__(
        self,
        lazy_type: Any,
        stock_entity: Callable[[bytes], Any],
        *,
        is_stock: bool = False,
        prepare: Callable[[Any], Any] | None = None,
    ) -> None: ...
    @property
    def is_stock(self) -> bool: ...
    @property
    def prepare(self) -> Callable[[Any], Any] | None: ...


class _ReadRpc(Protocol):
    """As :class:`lazyentity.pure.responses.ReadRpc`."""

    reader: Any
    is_of_query: bool


class _EntityBytes(Protocol):
    """As :class:`lazyentity.pure.responses.EntityBytes`."""

    @property
    def raw(self) -> bytes: ...
    @property
    def serialised_key(self) -> bytes | None: ...
    @property
    def rpc(self) -> Any: ...
    @property
    def _origin(self) -> Any: ...
    def _receive(self, raw: bytes, rpc: Any, /) -> None: ...
    def read(self, reader: Any, /) -> Any: ...
    def to_unboxed(self, reader: Any, /) -> Any: ...


class _ViewAs(Protocol):
    """As :class:`lazyentity.pure.responses.ViewAs`."""

    def __init__(self, kind: Any) -> None: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...


class _ResultBytes(Protocol):
    """As :class:`lazyentity.pure.responses.ResultBytes`."""

    entity_type: ClassVar[Any]

    @property
    def rpc(self) -> Any: ...
    @property
    def entity(self) -> Any: ...
    def read(self, reader: Any, /) -> Any: ...
    def entity_key(self) -> Key | None: ...
    def serialised(self) -> bytes: ...


class Backend(Protocol):
    """The names of a backend. ``result_type``, ``reader`` and ``rpc`` are of its own classes."""

    # As properties, which a class of either backend fits.
    @property
    def LazyMapping(self) -> type[_Mapping]: ...  # noqa: N802
    @property
    def DocumentBytes(self) -> type[_DocumentBytes]: ...  # noqa: N802
    @property
    def DocumentReader(self) -> type[_DocumentReader]: ...  # noqa: N802
    @property
    def DocumentWriter(self) -> type[_DocumentWriter]: ...  # noqa: N802
    @property
    def EntityBytes(self) -> type[_EntityBytes]: ...  # noqa: N802
    @property
    def EntityReader(self) -> type[_EntityReader]: ...  # noqa: N802
    @property
    def ReadRpc(self) -> type[_ReadRpc]: ...  # noqa: N802
    @property
    def ResultBytes(self) -> type[_ResultBytes]: ...  # noqa: N802
    @property
    def ViewAs(self) -> type[_ViewAs]: ...  # noqa: N802
    @property
    def PropertyIndex(self) -> type[_PropertyIndex]: ...  # noqa: N802
    @property
    def EntityFinder(self) -> type[_EntityFinder]: ...  # noqa: N802

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
    ) -> None:
        """Append the values of properties to columns, and leave the entities as they are.

        Args:
            entities: lazy entities of this backend, rows of it, and any other entities.
            names: of the properties.
            columns: a list for each of ``names``. None is appended where an entity lacks the
                property.
            copy: makes a plain value of a dict or list that was decoded or assigned.
            other: returns the values of an entity that is not of this backend.
            keys: a list to which ``key_of`` of each entity is appended.
            key_of: called with an entity, or with the entity that a row stands for.
            refuse: called with an entity of this backend, and with the name of a property that it
                lacks before None is appended; it may raise.

        Raises:
            RuntimeError: if a property is undecoded and there is a policy.
            TypeError: if code that bypasses the methods put the sentinel in place of a value.
            google.protobuf.message.DecodeError, ValueError: if a property cannot be decoded. Values
                of earlier entities, and some of this one, are appended then. ValueError, if there
                is not a list for each name.
        """

    def complete_key_bytes(self, key: object, project: str, database: str) -> bytes | None:
        """As :func:`key_bytes`, for any object; None unless it is a complete key of a database.

        Args:
            key: as for :func:`key_message`, or an object of another class.
            project: not empty.
            database: empty for the default one.
        """

    def convert_found(
        self,
        reader: Any,
        entities: dict[bytes, Any],
        results: tuple[Any, ...],
        pending: dict[bytes, Any],
    ) -> list[Any]: ...
    def is_json(self, value: Any) -> bool:
        """Say whether JSON gives a value back as it is.

        Args:
            value: any value. Types count exactly: an instance of a subclass is no JSON.

        Returns:
            False for any of these, wherever in ``value``:

            - a value of another type than dict, list, str, int, float, bool and None;
            - a float that is not finite;
            - a dict with a key that is no str, or with the key ``RESERVED``;
            - a dict or a list more than ``MAX_CONTAINERS`` deep, as in a cycle.
        """

    def count_entity(
        self, entity: Any, response_counter: Any, is_of_query: bool = False
    ) -> Any: ...
    def fixed_width(self, values: list[Any]) -> tuple[type, bytearray] | None:
        """Return the values as a buffer in the machine's byte order, if they have one type.

        Args:
            values: of a column.

        Returns:
            The type: bool, in one byte for each value; int, float, or datetime.datetime, in eight.
            The eight are a signed integer, a double, or the signed microseconds since 1970. None
            for other types, subclasses of these, a missing value, an integer of more bits, a
            timezone but UTC, and no values. DatetimeWithNanoseconds counts as datetime.datetime.
        """

    def key_bytes(self, key: Key) -> bytes | None:
        """Return the serialised :func:`key_message` of a key; None for the client to make it.

        Fields with a default value may be there or be left out.

        Args:
            key: as for :func:`key_message`.
        """

    def key_message(self, key: Key) -> Any:
        """Return the upb message of a key; None, if the client has to make it.

        Args:
            key: of the class ``Key`` itself, and only if :data:`lazyentity.codec.keys.DIRECT`.
        """

    def serialise_entity(
        self, contents: EncodableEntity, encodable_of: Callable[[Entity], EncodableEntity]
    ) -> tuple[bytes, bool]:
        """Serialise an entity; bytes that are to be written as they came are copied unchecked.

        Args:
            contents: as for :func:`write_entity`.
            encodable_of: as there.

        Returns:
            The serialised ``google.datastore.v1.Entity``, and the result of :func:`write_entity`.

        Raises:
            As :func:`write_entity`, but no error for bytes that are written as they came.
        """

    def split_lookup(
        self, raw: bytes, rpc: Any, result_type: Any
    ) -> tuple[bytes, tuple[Any, ...], tuple[Any, ...]]: ...
    def split_query(
        self, raw: bytes, rpc: Any, result_type: Any
    ) -> tuple[bytes, tuple[Any, ...]]: ...
    def stock_from_raw(self, raw: bytes) -> Entity: ...
    def type_version(self, kind: type, /) -> int:
        """Return the version of a class.

        It changes whenever an attribute of the class or of its bases is set or deleted. A
        change inside an attribute's value does not change it.

        Returns:
            0, if there is no such number; always 0 without the native backend.
        """

    def write_entity(
        self,
        target: Any,
        contents: EncodableEntity,
        encodable_of: Callable[[Entity], EncodableEntity],
    ) -> bool:
        """Write an entity into an empty upb ``Entity`` message.

        Args:
            target: a ``google.datastore.v1.Entity``; left in any state, if this raises.
            contents: the contents of the entity.
            encodable_of: returns the contents of an entity that is the value of a property.

        Returns:
            Whether the nesting of the encoded properties is known to be within protobuf's limit in
            any request.

        Raises:
            Exception: as the client's encoder raises it, for the same property.
            RuntimeError: as a dict's iterator raises it, if the names of the entity change
                meanwhile.
            google.protobuf.message.DecodeError: if bytes that are to be written as they came are
                malformed.
        """


NAMES: Final = tuple(name for name in vars(Backend) if not name.startswith("_"))
"""The names of a backend."""
