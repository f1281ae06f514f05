"""Documents that can be packed."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import strategies as st

from lazyentity._jsontypes import RESERVED

# The key that tags have is drawn often.
KEYS = st.text(max_size=6) | st.just(RESERVED)
JSON_SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
_AWARE = st.datetimes(
    timezones=st.integers(-23 * 3600, 23 * 3600).map(
        lambda seconds: datetime.timezone(datetime.timedelta(seconds=seconds))
    )
)
_HASHABLE = JSON_SCALARS | _AWARE | st.binary(max_size=8)
_TAGGED_SCALARS: st.SearchStrategy[Any] = (
    _AWARE
    | st.binary(max_size=20)
    | st.sets(_HASHABLE, max_size=3)
    | st.frozensets(_HASHABLE | st.frozensets(st.integers(0, 9), max_size=2), max_size=3)
)


def _nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=12,
    )


DOCUMENTS = _nested(JSON_SCALARS | _TAGGED_SCALARS)
