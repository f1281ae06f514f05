"""The interface of a backend to other wire formats: Firestore's documents, and ``EntityProto``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol


class Shape(Protocol):
    """The names of an entity's properties, shared by entities that have the same."""

    @property
    def ordinals(self) -> Any:
        """Every name, mapped to its position. A repeated name has its last one."""

    @property
    def template(self) -> Any:
        """Every name, mapped to ``UNDECODED``; None, until the same names have come twice."""


class PropertyIndex(Protocol):
    """An index of a serialised ``EntityProto`` by the names of its properties.

    A list is several properties with the same name. The order of names and of properties is the one
    in which clients convert them: those in ``raw_property`` come last.

    Attributes:
        raw: the serialised entity.
        shape: the same object for entities whose properties have the same names in the same order,
            provided that they have come twice; only then it has a template.
        takes: of the class; whether :meth:`take` ever puts a value into a dict.
    """

    takes: ClassVar[bool]

    @classmethod
    def of(cls, raw: bytes) -> Any:
        """Index a serialised entity.

        Args:
            raw: the bytes, which the index keeps.

        Returns:
            None, if ``raw`` is malformed or in another encoding than protobuf's own, or if a name
            is missing or not UTF-8. Bytes that protobuf has written are not refused for their
            encoding, unless they have unknown fields with the numbers of known ones.
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
        """Return the value of a name, if it is plain: one without a meaning, or a list of these.

        Args:
            name: of a property.
            text: whether to decode a string; if not, its bytes are returned.

        Returns:
            An int, float, bool, str or bytes, None, or a list of these. ``UNDECODED`` in all other
            cases, malformed ones too: convert :meth:`properties` then.
        """

    def contents(self, name: str, refused: int, text: bool) -> Any:
        """Return the single value of a name, of any meaning, if the backend itself can make it.

        Args:
            name: of a property.
            refused: a meaning that it must not have; nor may it have a ``meaning_uri``.
            text: as for :meth:`value`.

        Returns:
            An int, float, bool, str or bytes, or None. ``UNDECODED`` as for :meth:`value`, and if
            the name comes several times.
        """

    def take(
        self, storage: dict[Any, Any], stored: Any, name: str, refused: int | None, kind: Any
    ) -> Any:
        """Put the value of a name into a dict, if a backend can do both in one step.

        No other thread runs in between, so all threads get the same object.

        Args:
            storage: a dict, subclasses included; the method of the base sets the value.
            stored: the key, which must have ``UNDECODED`` for a value.
            name: of a property.
            refused: as for :meth:`contents`; None refuses all meanings, as :meth:`value` does.
            kind: the type that a value other than None must have; None: any plain one.

        Returns:
            The value, never a list, and ``bytes`` only if ``kind`` is. ``UNDECODED``, if the dict
            was left as it is.
        """

    def raw_names(self) -> frozenset[str]:
        """Return the names that occur in ``raw_property``."""

    def has_meaning(self, number: int) -> bool:
        """Whether any property has a meaning, given as a number of the enumeration."""

    def fields(self, names: Iterable[str]) -> bytes:
        """Return properties with their tags as they came, to be merged into an ``EntityProto``.

        Args:
            names: of the properties; the result has their order.
        """

    def layouts(self) -> bytes:
        """The layouts, in wire order: see :mod:`lazyentity.codec.property_layout`."""

    def entry_names(self) -> list[str]:
        """Return the name of each property, in wire order."""

    def key(self) -> bytes:
        """Return the serialised ``Reference``; empty, if there is none."""

    def path(self) -> Any:
        """Return the parts of the key, if a backend finds them faster than protobuf.

        Returns:
            The application, the namespace, and the kind and the identifier of each element of the
            path, at least one. An identifier is None if it is missing, 0 or an empty name.

            None, if the caller has to parse the message. This backend always returns None. The
            native one does if the key has further fields or characters outside ASCII.
        """


class DocumentReader(Protocol):
    """Decodes the documents of a client, each time into new objects.

    Args:
        geo_point: makes a point of latitude and longitude.
        reference: makes a reference to a document, of its name and a client.
        other_map: converts a map with a name that begins with two underscores, serialised as a
            ``MapValue``, for a client: it may be another type than a dict.
        timestamp: the class of timestamps, a subclass of ``datetime`` with an attribute
            ``_nanosecond``, which is 0 in all of them; None, if the client has to make them.

    Raises:
        TypeError: if ``timestamp`` is something else.
    """

    def __init__(
        self,
        *,
        geo_point: Callable[[float, float], Any],
        reference: Callable[[str, Any], Any],
        other_map: Callable[[bytes, Any], Any],
        timestamp: type[Any] | None,
    ) -> None: ...


class DocumentBytes(Protocol):
    """A serialised response with one document, and perhaps the time of the read and numbers.

    Attributes:
        raw: the response.
    """

    @classmethod
    def of(cls, raw: bytes, read_time_number: int, response: Any) -> Any:
        """Split a response.

        Args:
            raw: the serialised response. Its field 1 is the document.
            read_time_number: the number of the field with the time.
            response: the upb class of the response.

        Returns:
            An instance; None, if there is anything else but numbers in the response, or if it is
            malformed.
        """

    @classmethod
    def again(cls, raw: bytes, read_time_number: int, response: Any) -> Any:
        """Return an instance for bytes of which :meth:`of` made one before; arguments as there."""

    def is_in(self, collection: str) -> bool:
        """Whether the document is in a collection, given by its name, and not further below."""

    @property
    def raw(self) -> bytes: ...
    @property
    def name(self) -> str:
        """The name of the document."""

    @property
    def read_time(self) -> Any:
        """A new ``DatetimeWithNanoseconds`` of proto-plus, or None."""

    @property
    def create_time(self) -> Any:
        """As :attr:`read_time`."""

    @property
    def update_time(self) -> Any:
        """As :attr:`read_time`."""

    def decoded_fields(self, reader: Any, client: Any) -> Any:
        """Return a new dict of the fields; UNDECODED, if the client has to convert the document.

        Raises:
            Exception: as a function of the reader raises it.
        """

    def decoded_value(self, reader: Any, client: Any, names: Sequence[str]) -> Any:
        """Return the value of a field in fields, by their names.

        Returns:
            A new object; UNDECODED, if there is no such field, or if the client has to convert it.

        Raises:
            TypeError, UnicodeEncodeError: if a name is no text.
            Exception: as a function of the reader raises it.
        """


class DocumentWriter(Protocol):
    """Encodes the documents of a client.

    Args:
        other: serialises a ``Value`` of any other object, or raises the client's error.
        is_for_client: whether a document with this value has to be encoded by the client as a
            whole: a dict of a subclass, a transform.
        geo_point: the class of points, with floats as ``latitude`` and ``longitude``.
        references: the classes of references, with their name, once made, as
            ``_document_path_internal``.
        timestamp: the class of datetimes with a ``_nanosecond``.
        vector: the class of vectors, with a tuple of floats as ``_value``.
        write: the upb class of a ``Write``.
    """

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
    def update(self, name: str, fields: dict[str, Any]) -> bytes | None:
        """Serialise a ``Write`` that holds a document, and nothing beside it.

        Args:
            name: of the document.
            fields: of the document, by their names.

        Returns:
            The bytes; None, if the client has to encode the document. Then no value was encoded.

        Raises:
            Exception: as the client raises it for a value.
        """
