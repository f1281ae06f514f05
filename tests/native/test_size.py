"""How large an entity of the native backend is: reading many of them is bound by memory."""

from __future__ import annotations

from tests.native.backends import NATIVE


def test_an_entity_is_as_large_as_a_dict_and_a_line_of_the_processor_s_caches() -> None:
    """What the garbage collector keeps in front of an object is not counted in either."""
    assert NATIVE.__basicsize__ <= dict.__basicsize__ + 64
