"""The interface of a backend, which both implement, with its documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from lazyentity._backend.entities import EntityBytes as _EntityBytes
from lazyentity._backend.entities import EntityIterator as _EntityIterator
from lazyentity._backend.entities import EntityReader as _EntityReader
from lazyentity._backend.entities import LazyMapping as _LazyMapping
from lazyentity._backend.entities import ReadRpc as _ReadRpc
from lazyentity._backend.entities import ResponseEntities as _ResponseEntities
from lazyentity._backend.entities import ResultBytes as _ResultBytes
from lazyentity._backend.entities import ViewAs as _ViewAs
from lazyentity._backend.wireformats import DocumentBytes as _DocumentBytes
from lazyentity._backend.wireformats import DocumentReader as _DocumentReader
from lazyentity._backend.wireformats import DocumentWriter as _DocumentWriter
from lazyentity._backend.wireformats import PropertyIndex as _PropertyIndex

if TYPE_CHECKING:
    from google.cloud.datastore.entity import Entity
    from google.cloud.datastore.key import Key

    from lazyentity.codec.encodable import EncodableEntity


class Backend(Protocol):
    """The names of a backend. ``result_type``, ``reader`` and ``rpc`` use the backend's classes."""

    # As properties, which a class of either backend fits.
    @property
    def LazyMapping(self) -> type[_LazyMapping]: ...  # noqa: N802
    @property
    def DocumentBytes(self) -> type[_DocumentBytes]: ...  # noqa: N802
    @property
    def DocumentReader(self) -> type[_DocumentReader]: ...  # noqa: N802
    @property
    def DocumentWriter(self) -> type[_DocumentWriter]: ...  # noqa: N802
    @property
    def EntityBytes(self) -> type[_EntityBytes]: ...  # noqa: N802
    @property
    def EntityIterator(self) -> type[_EntityIterator]: ...  # noqa: N802
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
    ) -> list[Any]:
        """Read the entities of a look-up whose serialised keys are as in the request.

        Args:
            reader: as for :meth:`~lazyentity._backend.entities.EntityBytes.read`.
            entities: where the entities are put, by serialised key.
            results: each a :attr:`ResultBytes`.
            pending: the serialised keys that were asked for. The keys of ``entities`` are removed.

        Returns:
            The other results: their keys are not pending in this encoding, or reading them fails.
        """

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

        Args:
            key: as for :func:`key_message`.
        """

    def is_well_formed(self, serialised: bytes) -> bool:
        """Whether protobuf is known to take a serialised entity, as a part of any request.

        Where this is unknown, as always in the pure backend, a message has to be made of the bytes.

        Args:
            serialised: of :meth:`serialise_entity`.
        """

    def key_message(self, key: Key) -> Any:
        """Return the upb message of a key; None, if the client has to make it.

        Args:
            key: of the class ``Key`` itself, and only if :data:`lazyentity.codec.keys.DIRECT`.
        """

    def mutation_parts(self, mutations: Iterable[Mapping[str, bytes]]) -> list[bytes]:
        """Serialise a ``CommitRequest`` that has mutations, and nothing else.

        Args:
            mutations: of each the serialised message, by the name of its operation (insert, upsert
                or delete); nothing, if the mutation has no operation.

        Returns:
            Bytes to be joined: the request may have other parts.
        """

    def serialise_entity(
        self, entity: Entity, encodable_of: Callable[[Entity], EncodableEntity]
    ) -> tuple[bytes, bool, bool]:
        """Serialise an entity; bytes that are to be written as they came are copied unchecked.

        Args:
            entity: a lazy or a stock entity.
            encodable_of: as for :func:`write_entity`.

        Returns:
            The serialised ``google.datastore.v1.Entity``, the result of :func:`write_entity`, and
            whether all of the entity was encoded.

        Raises:
            As ``encodable_of`` and :func:`write_entity`, but no error for bytes that are written as
            they came.
        """

    def split_lookup(
        self, raw: bytes, rpc: Any, result_type: Any
    ) -> tuple[bytes, _ResponseEntities, _ResponseEntities]:
        """Split a serialised ``google.datastore.v1.LookupResponse``.

        Args:
            raw: the response.
            rpc: the RPC that it answers.
            result_type: a subclass of :attr:`ResultBytes`.

        Returns:
            The response without its results; the results in ``found``; those in ``missing``.

        Raises:
            google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked
                into.
        """

    def split_query(
        self, raw: bytes, rpc: Any, result_type: Any
    ) -> tuple[bytes, _ResponseEntities]:
        """Split a serialised ``google.datastore.v1.RunQueryResponse``, as :meth:`split_lookup`.

        Returns:
            The response without its results; the results in ``batch.entity_results``.
        """

    def stock_from_raw(self, raw: bytes) -> Entity:
        """Make the stock entity that the client makes of a serialised one.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed.
            ValueError, OverflowError: as the client raises them.
            TypeError: if ``raw`` is not bytes.
        """

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
