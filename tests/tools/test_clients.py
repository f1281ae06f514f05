"""The supported clients as setup.py and the documents show them."""

from __future__ import annotations

import pytest

from tools.clients import SupportedClient


@pytest.mark.parametrize(
    ("versions", "shown"),
    [
        (">=2.20.2,<2.28", "2.20.2 to 2.27"),
        (">=2.7,<2.8", "2.7"),
        (">=2.7, <2.8", "2.7"),
        (">=9,<10", "9 to below 10"),
        (">=2.16,<3", "2.16 to below 3"),
        (">=1.0,<3.0", "1.0 to below 3.0"),
    ],
)
def test_range(versions: str, shown: str) -> None:
    assert SupportedClient("toy", "toy-client", versions).range == shown


def test_requirements() -> None:
    """Only the required client has no upper bound."""
    assert SupportedClient("datastore", "store", ">=2.1, <3").requirement == "store>=2.1"
    assert SupportedClient("toy", "toy-client", ">=2.1, <3").requirement == "toy-client>=2.1,<3"
