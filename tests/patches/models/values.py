"""Values of properties that each client can store."""

from __future__ import annotations

import datetime
import functools
import zlib
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.patches.models.handmade import WHEN

Values = SearchStrategy[Any]

SOME_TEXTS = ("", "a", "Grüße", "x\x9c", "long " * 20)

TEXTS = st.sampled_from(SOME_TEXTS)
BLOBS = st.sampled_from([b"", b"a", b"\xff\0", b"long " * 20, b"x\x9cno", zlib.compress(b"zipped")])
INTEGERS = st.sampled_from([0, 1, -1, 2**40])
FLOATS = st.sampled_from([0.0, 1.5, -2.25, float("inf")])
TIMES = st.sampled_from(
    [WHEN, WHEN.replace(microsecond=0), datetime.datetime(1970, 1, 1), datetime.datetime(9, 9, 9)]
)
JSON = st.sampled_from([None, True, 1, "text", [], [1, [None]], {"a": {"b": 1.5}}, {}])
PICKLED = st.sampled_from([None, 1, "text", (1, b"2"), {1: {2}}, WHEN])


# Cached, as hypothesis looks at every new strategy before it draws from it.
@functools.cache
def optional(values: Values) -> Values:
    """Return the values, and None."""
    return st.one_of(values, st.none())


@functools.cache
def few(values: Values, most: int = 3) -> Values:
    """Return lists of the values."""
    return st.lists(values, max_size=most)


@functools.cache
def present(values: Values) -> Values:
    """Return the values that are not None."""
    return values.filter(lambda value: value is not None)


def keys_of(key_type: Any) -> Values:
    """Return keys, which may need a context."""
    return st.builds(
        lambda *path: key_type(*path),
        st.sampled_from(["Person", "Other"]),
        st.sampled_from([1, "name"]),
    )
