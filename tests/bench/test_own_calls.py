"""The share of a query that is decoding, and the savings."""

from __future__ import annotations

import dataclasses

import pytest
from rich.console import Console

from lazyentity.bench import own_entities
from lazyentity.bench.harness.lines import OwnCall
from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.report import own, terminal

from .made import make_results

pytestmark = pytest.mark.any_backend


def exactly(value: float) -> Summary:
    return Summary(value, value, value, 5)


def make_own(reads: tuple[str, ...], undecoded_ms: float = 20.1) -> Results:
    """A query of 100 entities: 100 µs each in stock, and 1 µs or 10 µs in lazyentity."""
    line = make_results().conversion[0]
    lines = [
        dataclasses.replace(
            line, mix="own", read=read, stock=exactly(100), lazy=exactly(1 if read == "0" else 10)
        )
        for read in reads
    ]
    call = OwnCall(entities=100, rate=50, undecoded=exactly(undecoded_ms))
    return dataclasses.replace(make_results(), mode="own", conversion=lines, own_call=call)


def _printed(made: Results) -> str:
    console = Console(width=200)
    with console.capture() as printed:
        terminal.show(made, console)
    return printed.get()


def test_shares() -> None:
    """Decoding is added to the rest of the call, the same on both sides."""
    nothing, named = own.calls(make_own(("0", "a, b")))
    assert named.rest == pytest.approx(20)
    assert named.stock == pytest.approx(30)
    assert named.lazy == pytest.approx(21)
    assert nothing.lazy == pytest.approx(20.1)
    assert named.cores_saved(50) == pytest.approx(0.45)
    assert own.sentence(named, 50) == (
        "A query of 100 entities that reads a, b takes 30.0 ms, of which 33% is decoding. With "
        "lazyentity it takes 21.0 ms, of which 5% is decoding. A service that sends 50 of them a "
        "second saves 0.45 CPU cores."
    )


def test_a_call_that_took_no_time() -> None:
    """A network faster than the clock does not make a share of more than everything."""
    (line,) = own.calls(make_own(("0",), undecoded_ms=0))
    assert line.rest == 0
    assert "100% is decoding" in own.sentence(line, 50)


@pytest.mark.parametrize("missing", ["call", "read"])
def test_an_interrupted_run(missing: str) -> None:
    """Nothing is said that was not measured."""
    made = make_own(("a, b",)) if missing == "read" else make_own(("0",))
    if missing == "call":
        made = dataclasses.replace(made, own_call=None)
    assert own.calls(made) == []
    assert list(own.tables(made)) == []
    assert own.outcome(made) is None


@pytest.mark.parametrize(
    ("reads", "words"),
    [
        (("0", "a_b", "all"), "reads a_b takes"),
        (("0", "1", "all", "items"), "reads all properties takes"),
        (("0", "1"), "reads 1 property of each takes"),
        (("0",), "reads no property takes"),
        (("0", "half"), "reads half of the properties takes"),
        (("0", "4"), "reads 4 properties of each takes"),
    ],
)
def test_the_outcome_in_words(reads: tuple[str, ...], words: str) -> None:
    """It is that of the properties that the user named, else of all of them."""
    assert words in _printed(make_own(reads))


def test_the_table() -> None:
    """A line for each read, with the share of decoding in percent on both sides."""
    shown = " ".join(_printed(make_own(("0", "a, b"))).split())
    assert "read stock % decoding lazy % decoding cores saved at 50/s" in shown
    assert "a, b 30.0 33 21.0 5 0.45" in shown


def test_timing() -> None:
    """The first call, which finds everything cold, does not count."""
    calls: list[None] = []
    measured = own_entities.measure_call(lambda: calls.append(None), entities=3, rate=2)
    assert len(calls) == own_entities.CALLS + 1
    assert measured.undecoded.rounds == own_entities.CALLS
    assert (measured.entities, measured.rate) == (3, 2)
