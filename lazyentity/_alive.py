"""How many properties are undecoded in this process: with none, adapters have nothing to do.

A property that is undecoded is a reference to ``UNDECODED``, in the storage of a lazy dict of any
client. So the number is that of all references to the sentinel, less those of templates, which
:class:`~lazyentity.codec.undecoded.Template` balances, and of modules' names. Reads pay nothing for
it. It can be too high for a while, as when a local variable has the sentinel, and is never too low.
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

is_settled: Callable[[Any], bool] = _chosen.is_settled
"""Say of a value that C code can have it as it is.

Either no property is undecoded anywhere, and no code makes one of its items: iterators of Python's
and the client's are such code, the value itself, or an item of a list, tuple or dict. Or the value
is a list, tuple or dict of nothing but scalars; the pure backend does not look.
"""

are_settled: Callable[[tuple[Any, ...], dict[str, Any] | None], bool] = _chosen.are_settled
"""Say the same of each argument of a call."""

makes_entities_later: Callable[[type], None] = _chosen.makes_entities_later
"""Called with the class of the client's iterators over entities."""
