"""The interfaces of the backends, which have the documentation of both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from google.cloud.datastore.entity import Entity
    from google.cloud.datastore.key import Key

    from lazyentity.codec.encodable import Changes, EncodableEntity


class Shape(Protocol):
    """The names of an entity's properties, shared by entities that have the same."""

    @property
    def ordinals(self) -> Any:
        """Every name, mapped to its position. A repeated name has its last one."""

    @property
    def template(self) -> Any:
        """Every name, mapped to ``UNDECODED``; None, until the same names have come twice."""


class LazyMapping(Protocol):
    """A dict of an entity's properties that decodes each when it is first read.

    States of a property, and all transitions between them:

    ========== ============================================ =======================================
    state      storage                                      leaves it by
    ========== ============================================ =======================================
    UNDECODED  the sentinel; its bytes are in ``_raw``      read: DECODED; else as DECODED
    DECODED    the value, the same object ever after        set: ASSIGNED; del: DELETED
    ASSIGNED   the caller's object                          set: ASSIGNED; del: DELETED
    DELETED    no such key                                  set: ASSIGNED
    ========== ============================================ =======================================

    A decode that fails changes nothing and raises again at the next read.

    These never decode: ``len``, ``in``, iteration, ``reversed``, ``keys()``, ``e[name] = value``,
    ``del``, ``update``, ``|=``, ``clear``. These decode one property: ``e[name]``, ``get``,
    ``pop``, ``popitem``, ``setdefault``. Every other operation decodes all undecoded properties in
    one pass, and then does the same as dict.

    It never touches ``key``, ``exclude_from_indexes`` and ``_meanings``: these are attributes of
    :class:`~lazyentity.entity.LazyEntity`. Members with ``_wire`` in their names tell of the entity
    as it was received, whatever the caller changed since.
    """

    @classmethod
    def _from_raw(cls, raw: bytes) -> Any:
        """Make a mapping of the serialised entity ``raw``, without running ``__init__``.

        Raises:
            TypeError: if ``raw`` is not bytes.
            google.protobuf.message.DecodeError: if the bytes are malformed. The native backend only
                looks for names here, the pure one parses the entity.
        """

    @property
    def _raw(self) -> bytes:
        """The serialised entity, perhaps in another encoding than it came in."""

    @property
    def _shape(self) -> Shape: ...
    @property
    def _policy(self) -> Any:
        """Refuses to decode, see :mod:`lazyentity.readers`; None, if decoding is free."""

    @_policy.setter
    def _policy(self, policy: Any) -> None: ...
    @property
    def _entity_counts(self) -> Any:
        """The :class:`~lazyentity.profiling.counters.EntityCounts` of an entity, if any."""

    @_entity_counts.setter
    def _entity_counts(self, counts: Any) -> None: ...

    @property
    def _deleted_attributes(self) -> frozenset[str]:
        """The attributes of an ``Entity`` that are not to be read from the bytes again."""

    @_deleted_attributes.setter
    def _deleted_attributes(self, names: frozenset[str]) -> None: ...
    def _instance_dict(self) -> dict[str, Any]:
        """Return the instance dictionary as it is; for subclasses that are ``Entity``, too.

        It lacks the attributes that were never read from the bytes.
        """

    def _replace_instance_dict(self, attributes: dict[str, Any]) -> None:
        """Make ``attributes`` the instance dictionary; for subclasses that are ``Entity``, too."""

    def _decode_all(self, operation: str) -> None:
        """Decode every undecoded property; none, if one of them fails.

        Args:
            operation: the caller's operation, for the text of an error.

        Raises:
            RuntimeError: if there is a policy.
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if it could not have converted a property.
        """

    def _storage(self) -> dict[Any, Any]:
        """Return a consistent copy of the storage, the sentinel included."""

    def _changes(self) -> Changes:
        """Return the changes made since the entity was received.

        Raises:
            TypeError: if code that bypasses the methods put the sentinel in place of a value.
        """

    def _decoded(self) -> dict[str, Any]:
        """Return a consistent copy of the properties that are DECODED or ASSIGNED.

        Raises:
            TypeError: if code that bypasses the methods put the sentinel in place of a value.
        """

    def _plain_values(self, names: Iterable[str], copy: Callable[[Any], Any]) -> dict[str, Any]:
        """Return properties as plain values, and leave them as they are.

        Args:
            names: of the properties; if it is empty, all properties are returned.
            copy: makes a plain value of a decoded or assigned value.

        Raises:
            KeyError: if one of the named properties is missing.
            RuntimeError: if a property is undecoded and there is a policy.
            TypeError: if code that bypasses the methods put the sentinel in place of a value.
            google.protobuf.message.DecodeError, ValueError: if a property cannot be decoded.
        """

    def _read_on_request(self, name: str) -> Any:
        """Read a property that the caller asks to decode, whatever the policy is."""

    def _undecoded(self) -> list[Any]:
        """Return a consistent list of the names whose values are still to be decoded."""

    def _serialised_values(self, names: Iterable[str]) -> list[bytes]:
        """Return the ``google.datastore.v1.Value`` of each of ``names``, as it came."""

    def _untouched(
        self, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> bytes:
        """Serialise, as it came, the part of the entity that is not encoded again.

        Fields unknown to the client are part of it.

        Args:
            changed: the properties that are encoded again, with their values.
            deleted: names of other properties to leave out, all of them on the wire.
            keeps_key: whether to serialise the key, too.
        """

    def _merge_untouched(
        self, target: Any, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> None:
        """Merge the result of :meth:`_untouched` into the empty upb ``Entity`` message ``target``.

        Raises:
            google.protobuf.message.DecodeError: if something in that result is malformed.
                ``target`` is left in any state.
        """

    def _wire_cases(self, names: Iterable[str]) -> bytes:
        """Return the oneof case of each of ``names``: a byte for each, the number of the field.

        The number is 0 if a value has no case or malformed bytes.
        """

    def _wire_entity(self) -> Entity | None:
        """Make a stock entity of the bytes, in wire order, without decoding anything in place.

        Properties that are not UNDECODED in storage have any value, and neither flag nor meaning.

        Returns:
            None, if the properties have to be read: a policy may refuse to decode, or the bytes of
            a property are malformed or, to the native backend, unusual.
        """

    def _wire_excluded(self, names: Iterable[str] | None = None) -> set[str]:
        """Return the names that the client would list in ``exclude_from_indexes``.

        Args:
            names: properties of the serialised entity, the only ones to look at; None for all.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if the elements of an array disagree.
        """

    def _wire_key(self) -> Key | None:
        """Decode the key, the first time; None if there is none.

        Raises:
            google.protobuf.message.DecodeError: if its bytes are malformed.
            ValueError: as the client raises it, if it could not have converted the key.
        """

    def _wire_key_bytes(self) -> bytes:
        """Return the serialised key; empty if there is none."""

    def _wire_meanings(self, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]:
        """Return ``(meaning, value)`` by name for the properties that have a meaning.

        These are decoded, because the client compares the value by identity when it writes.

        Args:
            names: properties of the serialised entity, the only ones to look at; None for all.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if it could not have converted one of the values.
        """


class EntityReader(Protocol):
    """Makes the entities of a read: lazy ones, stock ones, or lazy ones that are prepared.

    Args:
        lazy_type: the class of lazy entities, a subclass of the backend's ``LazyMapping``.
        stock_entity: makes a stock entity of a serialised one.
        is_stock: whether entities become stock ones.
        prepare: takes a lazy entity and returns it as it is handed out; None changes nothing.
    """

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


class ReadRpc(Protocol):
    """The RPC that a response answers. All handles of the response carry it.

    Attributes:
        reader: makes the entities, if that was decided when the RPC was sent; None, if it is left
            to those who read a handle.
        is_of_query: whether the results are whole entities that a query returned; for a profile.
    """

    reader: Any
    is_of_query: bool


class EntityBytes(Protocol):
    """A serialised entity that waits to be read."""

    @property
    def raw(self) -> bytes:
        """The serialised ``google.datastore.v1.Entity``."""

    @property
    def serialised_key(self) -> bytes | None:
        """The key as it came; None, if there is none, or if it is not in one piece.

        The native backend also gives None for an encoding that servers do not send. The pure one
        raises DecodeError for malformed bytes.
        """

    @property
    def rpc(self) -> Any:
        """The RPC that returned the entity."""

    @property
    def _origin(self) -> Any:
        """The object whose :class:`ViewAs` property made this one."""

    def _receive(self, raw: bytes, rpc: Any, /) -> None:
        """Take up an entity that did not come with a response."""

    def read(self, reader: Any, /) -> Any:
        """Make the entity.

        Args:
            reader: makes it, unless the RPC decided otherwise.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed.
            ValueError, OverflowError: for a stock entity, as the client raises them.
            Exception: any that :attr:`EntityReader.prepare` raises.
        """

    def to_unboxed(self, reader: Any, /) -> Any:
        """Make a row for :meth:`~Backend.append_columns`, or the entity.

        The pure backend has no rows. Native rows give the values and errors of the entities that
        they take the place of.

        Raises:
            As :meth:`read`.
        """


class ViewAs(Protocol):
    """A property: the same bytes as an instance of another class.

    Args:
        kind: the other class; both are subclasses of :class:`EntityBytes`.
    """

    def __init__(self, kind: Any) -> None: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...


class ResultBytes(Protocol):
    """One result of a read response.

    Attributes:
        entity_type: of the class; the class of :attr:`entity`, a subclass of :class:`EntityBytes`.
    """

    entity_type: ClassVar[Any]

    @property
    def rpc(self) -> Any:
        """The RPC that returned this result."""

    @property
    def entity(self) -> Any:
        """The entity of this result, still serialised."""

    def read(self, reader: Any, /) -> Any:
        """Make the entity, as :meth:`EntityBytes.read` of :attr:`entity`."""

    def entity_key(self) -> Key | None:
        """Decode the key of the entity, and nothing else of it; None if there is none.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of the key are malformed.
            ValueError: as the client raises it, if it could not have converted the key.
        """

    @property
    def cursor(self) -> bytes:
        """The position behind this result of a query; empty, if the server gave none."""

    def serialised(self) -> bytes:
        """Return the serialised ``google.datastore.v1.EntityResult``."""


class ResponseEntities(Protocol):
    """The entities of a response's results, each an object only while code asks for it.

    Its copies are lists of the entities, as is the client's page.
    """

    def __len__(self) -> int: ...
    def __iter__(self) -> EntityIterator: ...

    def results(self) -> tuple[Any, ...]:
        """Return a :class:`ResultBytes` for each result, the same ones each time."""


class EntityIterator(Protocol):
    """An iterator over the entities of a response; each is an :class:`EntityBytes`, made anew."""

    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def __length_hint__(self) -> int: ...

    def read_next(self, reader: Any, /) -> Any:
        """Make the next entity, as :meth:`EntityBytes.read`.

        An entity that cannot be read is passed: the iterator goes on behind it.

        Raises:
            StopIteration: at the end.
        """


# Inside of Backend, the names are those of its properties.
_LazyMapping = LazyMapping
_EntityBytes = EntityBytes
_EntityIterator = EntityIterator
_EntityReader = EntityReader
_ReadRpc = ReadRpc
_ResponseEntities = ResponseEntities
_ResultBytes = ResultBytes
_ViewAs = ViewAs


class Backend(Protocol):
    """The names of a backend. ``result_type``, ``reader`` and ``rpc`` use the backend's classes."""

    # As properties, which a class of either backend fits.
    @property
    def LazyMapping(self) -> type[_LazyMapping]: ...  # noqa: N802
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
            reader: as for :meth:`~EntityBytes.read`.
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
            The serialised ``google.datastore.v1.Entity``; whether the nesting of what was encoded
            is known to be within protobuf's limit in any request; and whether all of the entity
            was encoded.

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

    def write_entity(
        self,
        target: Any,
        entity: Entity,
        encodable_of: Callable[[Entity], EncodableEntity],
    ) -> None:
        """Write an entity into an empty upb ``Entity`` message.

        Args:
            target: a ``google.datastore.v1.Entity``; left in any state, if this raises.
            entity: a lazy or a stock entity.
            encodable_of: returns the contents of an entity: this one, or one that is the value of a
                property. The native backend does not call it for stock entities.

        Raises:
            Exception: as the client's encoder raises it, for the same property.
            RuntimeError: as a dict's iterator raises it, if the names of the entity change
                meanwhile.
            google.protobuf.message.DecodeError: if bytes that are to be written as they came are
                malformed.
        """


class PropertyIndex(Protocol):
    """An index of a serialised ``EntityProto`` by the names of its properties.

    A list is several properties with the same name. The order of names and of properties is the one
    in which clients convert them: those in ``raw_property`` come last.

    Attributes:
        raw: the serialised entity.
        shape: the same object for entities whose properties have the same names in the same order,
            provided that they have come twice; only then it has a template.
    """

    @classmethod
    def from_bytes(cls, raw: bytes) -> Any:
        """Index a serialised entity, and keep the bytes.

        Returns:
            None for malformed bytes, for an encoding that protobuf does not write, and for a name
            that is missing or not UTF-8.
        """

    @property
    def raw(self) -> bytes: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def names(self) -> tuple[str, ...]:
        """The names, each once."""

    def fill(self, storage: dict[Any, Any]) -> None:
        """Put every name into a dict, mapped to ``UNDECODED``."""

    def properties(self, name: str) -> list[bytes]:
        """Return each serialised ``Property`` of a name; an empty list, if there is none."""

    def value(self, name: str, text: bool) -> Any:
        """Return the scalar or list of scalars of a name, if it has no meaning.

        Args:
            name: of a property.
            text: whether to decode a string; if not, its bytes are returned.

        Returns:
            ``UNDECODED`` in all other cases, malformed ones too: convert :meth:`properties` then.
        """

    def contents(self, name: str, refused: int) -> Any:
        """Return the only scalar of a name, whatever its meaning; of a string its bytes.

        Args:
            name: of a property.
            refused: a meaning that it must not have; nor may it have a ``meaning_uri``.

        Returns:
            ``UNDECODED`` as for :meth:`value`, and if the name comes several times.
        """

    def take(
        self, storage: dict[Any, Any], stored: Any, name: str, refused: int | None, kind: Any
    ) -> Any:
        """Put the value of a name into a dict in one step, so that all threads get one object.

        Args:
            storage: a dict, subclasses included; the method of the base sets the value.
            stored: the key, which must have ``UNDECODED`` for a value.
            name: of a property.
            refused: as for :meth:`contents`; None refuses all meanings, as :meth:`value` does.
            kind: the type that a value other than None must have; None: any scalar one.

        Returns:
            The value, never a list, and ``bytes`` only if ``kind`` is. ``UNDECODED``, if the dict
            was left as it is.
        """

    def raw_names(self) -> frozenset[str]:
        """Return the names that occur in ``raw_property``."""

    def has_meaning(self, number: int) -> bool:
        """Whether any property has a meaning, given as a number of the enumeration."""

    def fields(self, names: Iterable[str]) -> bytes:
        """Return properties with their tags as they came, in the order of ``names``."""

    def layouts(self) -> bytes:
        """Four bytes for each property, in wire order: tag, meaning, flags, kind of contents."""

    def entry_names(self) -> list[str]:
        """Return the name of each property, in wire order."""

    def key(self) -> bytes:
        """Return the serialised ``Reference``; empty, if there is none."""

    def path(self) -> Any:
        """Return the parts of the key, if it has nothing but ASCII text and the usual fields.

        Returns:
            The application, the namespace, and the kind and the identifier of each element of the
            path, at least one; an identifier is None if it is missing, 0 or an empty name. None, if
            the caller has to parse the message.
        """


_PropertyIndex = PropertyIndex


class NativeBackend(Backend, Protocol):
    """The names that the native backend has beside those of both."""

    @property
    def PropertyIndex(self) -> type[_PropertyIndex]: ...  # noqa: N802
