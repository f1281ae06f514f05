"""A run on the user's own entities: the share of a call that is decoding, and the savings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lazyentity.bench.cases.synthetic import READS, WHOLE
from lazyentity.bench.harness.results import Results
from lazyentity.bench.own_entities import NOTHING
from lazyentity.bench.report.table import Figure, Label, Table

_MICROSECONDS = 1e3
"""In a millisecond."""
_SECONDS = 1e-3
"""In a millisecond."""
_SHARE = "% decoding"


@dataclass(frozen=True)
class Call:
    """A call that reads some properties: milliseconds.

    ``rest`` is all but decoding: the network, the server, and the client's own work. It is the
    same with and without lazyentity.
    """

    read: str
    entities: int
    rest: float
    stock_decoding: float
    lazy_decoding: float

    @property
    def stock(self) -> float:
        """The whole call without lazyentity."""
        return self.rest + self.stock_decoding

    @property
    def lazy(self) -> float:
        """The whole call with lazyentity."""
        return self.rest + self.lazy_decoding

    def cores_saved(self, rate: float) -> float:
        """The seconds of CPU that ``rate`` calls a second save in each second."""
        return (self.stock_decoding - self.lazy_decoding) * _SECONDS * rate


def calls(results: Results) -> list[Call]:
    """The calls of a run, a line for each read; none if their parts were not measured."""
    lines = {line.read: line for line in results.conversion}
    measured, nothing_read = results.own_call, lines.get(NOTHING)
    if measured is None or nothing_read is None:
        return []
    to_call = measured.entities / _MICROSECONDS
    # The times of a fast network and of decoding were not taken at the same moment.
    rest = max(0.0, measured.undecoded.median - nothing_read.lazy.median * to_call)
    return [
        Call(
            line.read,
            measured.entities,
            rest,
            stock_decoding=line.stock.median * to_call,
            lazy_decoding=line.lazy.median * to_call,
        )
        for line in lines.values()
    ]


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def _share(part: float, whole: float) -> str:
    percent = _percent(part, whole)
    return "-" if percent is None else f"{percent:.0f}%"


def sentence(call: Call, rate: float) -> str:
    """The outcome for one read, in words."""
    return (
        f"A query of {call.entities} entities that reads {_read(call.read)} takes "
        f"{call.stock:.1f} ms, of which {_share(call.stock_decoding, call.stock)} is decoding. "
        f"With lazyentity it takes {call.lazy:.1f} ms, of which "
        f"{_share(call.lazy_decoding, call.lazy)} is decoding. A service that sends {rate:g} of "
        f"them a second saves {call.cores_saved(rate):.2f} CPU cores."
    )


def _read(read: str) -> str:
    if read in WHOLE:
        return "all properties"
    if read in ("0", "half"):
        return {"0": "no property", "half": "half of the properties"}[read]
    if read.isdecimal():
        return f"{read} {'property' if read == '1' else 'properties'} of each"
    return read


def tables(results: Results) -> Iterator[Table]:
    """The table of the share of decoding for each read; none if the parts were not measured."""
    lines = calls(results)
    if results.own_call is not None and lines:
        rate = results.own_call.rate
        yield Table(
            "a query: ms a call, and the share of it that is decoding",
            "",
            lines,
            (Label("read", "read"),),
            (
                Figure("stock", "stock", "ms"),
                Figure(_SHARE, lambda line: _percent(line.stock_decoding, line.stock), "%", 0),
                Figure("lazy", "lazy", "ms"),
                Figure(_SHARE, lambda line: _percent(line.lazy_decoding, line.lazy), "%", 0),
                Figure(
                    f"cores saved at {rate:g}/s", lambda line: line.cores_saved(rate), "cores", 2
                ),
            ),
        )


def outcome(results: Results) -> str | None:
    """The outcome in words for one read; None if the parts were not measured."""
    lines = calls(results)
    if results.own_call is None or not lines:
        return None
    return sentence(_headline(lines), results.own_call.rate)


def _headline(lines: Sequence[Call]) -> Call:
    """The properties that the user named; all of them, which gains least, if none is named."""
    by_read = {line.read: line for line in lines}
    named = [read for read in by_read if read not in READS]
    return by_read[named[0] if named else "all" if "all" in by_read else lines[-1].read]
