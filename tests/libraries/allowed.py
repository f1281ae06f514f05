"""The libraries' own tests with another outcome under the patch, by node id, with the reason."""

from __future__ import annotations

from typing import Final

ALLOWED_PURE: Final = {
    "tests/types/test_sequence.py::test_sequence_generator_fails": (
        "expects its own generator as the input of an error; the pure backend cannot decode the "
        "items of a generator but by giving pydantic another one"
    )
}
"""Differences of the pure backend; docs/adapters.rst has them. The native backend has none."""
