"""Every order of importing, patching, unpatching, making a client and reading."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import lazyentity
from tests.patches.conftest import Make, Ports
from tests.patches.order_program import read
from tests.support.clients import TRANSPORTS
from tests.support.forks import answer

_CLIENT = ("import client", "make client", "read")
_LAZYENTITY = (
    ("import lazyentity",),
    ("import lazyentity", "patch"),
    ("import lazyentity", "patch", "unpatch"),
    ("import lazyentity.auto",),
    ("import lazyentity.auto", "unpatch"),
)


def _interleavings(first: tuple[str, ...], second: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Give every sequence that takes the steps of both, each in its own order."""
    length = len(first) + len(second)
    for places in itertools.combinations(range(length), len(first)):
        steps = [iter(first), iter(second)]
        yield tuple(next(steps[place not in places]) for place in range(length))


ORDERS = [order for theirs in _LAZYENTITY for order in _interleavings(_CLIENT, theirs)]


def _expected_classes(order: tuple[str, ...]) -> list[str]:
    """Return the class of the entities of each read: lazy if patched at that time."""
    expected = []
    patched = False
    for step in order:
        if step in ("patch", "import lazyentity.auto"):
            patched = True
        elif step == "unpatch":
            patched = False
        elif step == "read":
            expected.append("LazyEntity" if patched else "Entity")
    return expected


def test_every_order_is_there() -> None:
    """The orders below are all of them: each choice of lazyentity's steps, interleaved freely."""
    assert len(ORDERS) == len(set(ORDERS)) == 4 + 10 + 20 + 4 + 10


@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
def test_order(order: tuple[str, ...], ports: Ports, stock_contents: Any) -> None:
    """Reads are lazy exactly while patched, with stock's contents, over both transports.

    Read once more at the end: by a client that was made, and often used, before the last step.
    """
    steps = (*order, "read")
    reads = answer(
        *("-m", "tests.patches.order_program"),
        *(",".join(steps), str(ports["grpc"]), str(ports["http"])),
        warnings="error",
    )

    expected = _expected_classes(steps)
    assert len(reads) == len(expected) == 2
    for by_transport, name in zip(reads, expected, strict=True):
        assert by_transport.keys() == set(TRANSPORTS)
        for result in by_transport.values():
            assert result["classes"] == [name]
            assert result["contents"] == stock_contents


# Shorter ones are their beginnings, and each letter is followed by the checks.
WORDS = list(itertools.product("pu", repeat=4))


@pytest.mark.parametrize("word", WORDS, ids="".join)
def test_patching_and_unpatching_again_and_again(
    word: tuple[str, ...], make: Make, stock_contents: Any
) -> None:
    """After any sequence of patch() and unpatch() the last one counts, for clients of every age."""
    clients = [make()]
    for letter in word:
        if letter == "p":
            lazyentity.patch()
        else:
            lazyentity.unpatch()
        clients.append(make())
        name = "LazyEntity" if letter == "p" else "Entity"
        assert ("datastore" in lazyentity.patched()) == (letter == "p")
        for client in clients:
            result = read(client)
            assert result["classes"] == [name]
            assert result["contents"] == stock_contents
