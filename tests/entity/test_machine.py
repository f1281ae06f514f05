"""Any sequence of operations has the results and effects that it has on a stock entity."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lazyentity import LazyEntity
from tests.fuzz.sequences import RAW, STEPS, Case, compare, lazily
from tests.support.strategies import Grammar, entities

CASES = st.builds(
    Case,
    raw=entities(Grammar(properties=6)),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2**32 - 1)), max_size=25).map(
        tuple
    ),
    writer=st.sampled_from(list(RAW)),
)


@given(case=CASES)
def test_operations_in_any_order(lazy_type: type[LazyEntity], case: Case) -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    compare(case, lazily(case, RAW, lazy_type), RAW)
