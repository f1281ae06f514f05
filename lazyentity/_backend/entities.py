"""The interface of a backend to entities: the lazy mapping, and the results of a read response."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from lazyentity._backend.wireformats import Shape

if TYPE_CHECKING:
    from google.cloud.datastore.entity import Entity
    from google.cloud.datastore.key import Key

    from lazyentity.codec.encodable import Changes


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
            google.protobuf.message.DecodeError: if the bytes are malformed, as far as names are
                looked for.
        """

    @property
    def _raw(self) -> bytes:
        """The serialised entity, perhaps in another encoding than it came in."""

    @property
    def _shape(self) -> Shape: ...
    @property
    def _policy(self) -> Any:
        """Refuses to decode, see :mod:`lazyentity.strict`; None, if decoding is free."""

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

        The native backend also gives None for an encoding that servers do not send, malformed ones
        included.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed; pure backend only.
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
        """Make a row for :meth:`~lazyentity._backend.abc.Backend.append_columns`, or the entity.

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
