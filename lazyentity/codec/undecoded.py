"""The sentinel in dict storage for a property that has not been decoded yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from lazyentity.codec.describing import property_name

_Name = TypeVar("_Name", str, bytes)

_LEAKED = (
    "a property of a lazy entity or model was not read yet; pass lazyentity.materialize(entity), "
    "or read by patch(eager=True)"
)


class UndecodedType:
    """Type of :data:`UNDECODED`.

    C code that bypasses dict methods sees the sentinel. Using it as data must fail loudly:

    - a JSON encoder's ``default=str``;
    - a comparison made by ``dict`` itself;
    - pickling;
    - an encoder that writes the attributes of any object.

    Only ``repr`` answers, and names the remedy: other libraries put it into their error texts.

    Raises:
        TypeError: by every operation but identity and ``repr``.
    """

    __slots__ = ()

    @property
    def undecoded(self) -> UndecodedType:
        """Itself.

        An encoder that writes the attributes of any object, as that of pandas does, recurses
        without end and raises.
        """
        return self

    def __repr__(self) -> str:
        return f"<{_LEAKED}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(_LEAKED)

    __str__ = __format__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = __bytes__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


UNDECODED = UndecodedType()
"""The sentinel in the storage of a lazy entity for each property that is not decoded yet."""


def undecoded_template(names: Iterable[_Name]) -> dict[_Name, UndecodedType]:
    """Return a dict of names, each mapped to ``UNDECODED``, from which storage can be cloned.

    ``dict.fromkeys()`` gives few names the key table of many if they come from another dict;
    CPython does not clone such a table.
    """
    return {name: UNDECODED for name in names}  # noqa: C420


_CONTAINERS = (list, dict)
_SCALARS = frozenset((bool, bytes, float, int, str, type(None)))


def keeps_undecoded(mapping: Any) -> bool:
    """Say whether a dict may hold the sentinel for values that are still to be decoded.

    The sentinel in any other dict has leaked.
    """
    return hasattr(type(mapping), "_undecoded")


def holds_undecoded(value: Any, *, trusts_lazy: bool = False) -> bool:
    """Say whether a value is the leaked sentinel, or has it in its lists and dicts.

    The check takes linear time in the size of the lists and dicts.

    Args:
        value: any value.
        trusts_lazy: whether to skip lazy dicts: values were checked when they were assigned
            to them.
    """
    if value is UNDECODED:
        return True
    if not isinstance(value, _CONTAINERS):
        return False
    pending: list[Any] = [value]
    seen = {id(value)}
    for container in pending:
        is_dict = isinstance(container, dict)
        keeps = is_dict and keeps_undecoded(container)
        if keeps and trusts_lazy:
            continue
        items = list(dict.values(container) if is_dict else list.__iter__(container))
        kinds = set(map(type, items))
        if kinds <= _SCALARS:
            continue
        if UndecodedType in kinds and not keeps:
            return True
        if not any(issubclass(kind, _CONTAINERS) for kind in kinds):
            continue
        for item in items:
            if isinstance(item, _CONTAINERS) and id(item) not in seen:
                seen.add(id(item))
                pending.append(item)
    return False


def require_decoded(name: object, value: object) -> None:
    """Check a value that is to be assigned.

    Raises:
        TypeError: if the value is or holds the sentinel.
    """
    if holds_undecoded(value, trusts_lazy=True):
        raise assigned(name)


def assigned(name: object) -> TypeError:
    """Return the error of assigning the sentinel."""
    return TypeError(
        f"the value for property {property_name(name)} is, or holds, an undecoded property that "
        "was read past the dict methods of a LazyEntity; take it from "
        "lazyentity.materialize(entity) instead"
    )
