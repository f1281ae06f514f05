"""How large an entity of the native backend is: reading many of them is bound by memory."""

from __future__ import annotations

import sys

import pytest

from tests.backends.backends import NATIVE

pytestmark = pytest.mark.any_backend

# CPython 3.12 and later keep weak references, and room for attributes, in front of the object.
MOST_BYTES = 128 if sys.version_info < (3, 12) else 136


def test_size_of_an_entity() -> None:
    """With CPython's header in front of the object, without the table of its properties."""
    entity = NATIVE()
    in_front = sys.getsizeof(entity) - entity.__sizeof__()
    assert in_front > 0
    assert NATIVE.__basicsize__ + in_front <= MOST_BYTES
