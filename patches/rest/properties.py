"""The properties of an entity in JSON, and the dict that converts each when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lazyentity.codec.undecoded import undecoded_template
from lazyentity.storage.lazyvaluedict import LazyValueDict

# As json.loads(), which first looks for the encoding of bytes, and for spaces around the value.
_parse = json.JSONDecoder().raw_decode
_new = LazyValueDict.__new__
_fill = dict.update

PLAIN = {"booleanValue": bool, "doubleValue": float, "integerValue": int, "stringValue": str}
"""The types of plain values. The client's ``Value`` goes through all types for each."""


class JsonProperties(dict[str, Any]):
    """The JSON properties of an entity that the client has received: a dict as any other.

    Its class alone says that nobody else holds the properties, so that they may be converted later.
    """

    __slots__ = ()

    def parsed(self, name: str) -> Any:
        """Return a property as a parsed JSON object."""
        return self[name]

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Pickled and copied as a plain dict: an application may keep the JSON that its code gets.
        return dict, (), None, None, iter(self.items())


class RawJsonProperties(JsonProperties):
    """The same with each property serialised, for the client's own constructor of entities."""

    __slots__ = ()

    def parsed(self, name: str) -> Any:
        """Return a property as a parsed JSON object.

        Raises:
            json.JSONDecodeError: if it is malformed.
        """
        return _parse(str(self[name], "utf-8"))[0]

    def items(self) -> Any:
        """As dict, parsed: for the stock constructor, if it is back in its place by now."""
        return {name: self.parsed(name) for name in self}.items()


class LazyProperties(LazyValueDict):
    """The attribute ``properties`` of an entity, converted one by one.

    Attributes:
        _received: the properties in JSON.
        _value_kind: the class of values that the entity is converted with.
    """

    __slots__ = ("_plain", "_received", "_value_kind")

    _received: JsonProperties
    _value_kind: Any
    _plain: Mapping[str, Any]

    @classmethod
    def from_json(
        cls, received: JsonProperties, value_kind: Any, *, is_own: bool = False
    ) -> LazyProperties:
        """Make the dict, with all names and no value.

        Args:
            received: the properties in JSON.
            value_kind: the client's ``Value``, or a subclass.
            is_own: whether it is the client's ``Value``, which converts plain values as
                :data:`PLAIN` does.
        """
        made: LazyProperties = _new(cls)
        made._received = received
        made._value_kind = value_kind
        made._plain = PLAIN if is_own else {}
        _fill(made, undecoded_template(received))
        return made

    def _compute(self, name: Any) -> Any:
        data = self._received.parsed(name)
        if type(data) is dict and len(data) == 1:
            ((kind, value),) = data.items()
            convert = self._plain.get(kind)
            if convert is not None:
                return convert(value)
        return self._value_kind.from_repr(data).value


def mark_received(results: Any) -> None:
    """Mark the entities in results as received, in place.

    Args:
        results: parsed JSON, expected to be a list of objects as ``EntityResult`` describes them.
    """
    for result in results if type(results) is list else ():
        entity: Any = result.get("entity") if type(result) is dict else None
        properties = entity.get("properties") if type(entity) is dict else None
        if type(properties) is dict:
            entity["properties"] = JsonProperties(properties)


def mark_response(data: Any) -> Any:
    """Mark the entities in a parsed response to a lookup or a query, and return the response."""
    if isinstance(data, Mapping):
        batch = data.get("batch")
        if isinstance(batch, Mapping):
            mark_received(batch.get("entityResults"))
        for part in ("found", "missing"):
            mark_received(data.get(part))
    return data
