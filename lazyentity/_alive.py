"""How many properties are undecoded in this process: with none, adapters have nothing to do.

A property that is undecoded is a reference to ``UNDECODED``, in the storage of a lazy dict of any
client. So the number counts all references to the sentinel, less the references of templates,
which :class:`~lazyentity.codec.undecoded.Template` balances, and of the names of lazyentity's own
modules. Reads pay nothing for it. It can be too high, as when a variable has the sentinel, and is
never too low.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyentity._choice import without_client

_chosen: Any = without_client("alive")

undecoded_count: Callable[[], int] = _chosen.undecoded_count
"""Return how many properties are undecoded; 1 where it cannot be known."""

any_undecoded: Callable[[], bool] = _chosen.any_undecoded
"""Say whether a property is undecoded."""

is_bare: Callable[[Any], bool] = _chosen.is_bare
"""Say whether a value is a scalar, or a list, tuple or dict of these, a few inside each other.

The native backend takes pydantic models for such containers, too.

Such a value leads to no entity, and to no code that makes one. The look is bounded: of many
containers, False.
"""

are_bare: Callable[[tuple[Any, ...], dict[str, Any] | None], bool] = _chosen.are_bare
"""Say the same of all arguments of a call."""

are_settled: Callable[[tuple[Any, ...], dict[str, Any] | None], bool] = _chosen.are_settled
"""Say of the arguments of a call that C code can have them as they are.

Either no property is undecoded anywhere, and no argument makes its items, nor an item of a list,
tuple or dict that is one: iterators of Python's and the client's make theirs. Or the arguments are
bare; the pure backend does not look. That is not enough for a library that takes the items of
iterators wherever they are, or of those that objects hold.
"""

each_settled: Callable[..., bool] = _chosen.each_settled
"""As :func:`are_settled`, for the arguments that it is called with."""

makes_entities_later: Callable[[type], None] = _chosen.makes_entities_later
"""Called with the class of the client's iterators over entities."""

holds_no_values: Callable[[type], None] = _chosen.holds_no_values
"""Called with a class whose instances count as scalars."""

holds_its_fields: Callable[[type, tuple[Any, ...]], None] = _chosen.holds_its_fields
"""Called with pydantic's class of models, and its slots.

These are the slots of the set of fields, of further attributes and of private ones.
"""
