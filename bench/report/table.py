"""The parts of a table of results, which every output draws by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lazyentity.bench.harness.stats import Summary, scaled_summary, summarize


@dataclass(frozen=True)
class Label:
    """A column of text. ``text`` is the name of an attribute of a line, or a function of a line."""

    header: str
    text: str | Callable[[Any], str]

    def of(self, line: Any) -> str:
        """The text for ``line``."""
        return str(getattr(line, self.text)) if isinstance(self.text, str) else self.text(line)


@dataclass(frozen=True)
class Figure:
    """A column of medians and their spread, or of single numbers.

    ``value`` is the name of an attribute of a line, or a function of a line. It gives a `Summary`,
    a number, or ``None`` where nothing was measured; it is shown divided by ``divisor``, with
    ``digits`` decimals. A ratio has no ``unit``.
    """

    header: str
    value: str | Callable[[Any], Summary | float | None]
    unit: str = ""
    digits: int = 1
    divisor: float = 1

    def of(self, line: Any) -> Summary | None:
        """The summary for ``line``, in `unit`."""
        held = getattr(line, self.value) if isinstance(self.value, str) else self.value(line)
        if held is None:
            return None
        summary = held if isinstance(held, Summary) else summarize([held])
        return scaled_summary(summary, 1 / self.divisor)


def medians(unit: str, *names: str, digits: int = 1, divisor: float = 1) -> tuple[Figure, ...]:
    """Columns of attributes in one unit, by default the stock and the lazy side."""
    return tuple(
        Figure(name.replace("_", " "), name, unit, digits, divisor)
        for name in names or ("stock", "lazy")
    )


def count(header: str, attribute: str) -> Label:
    """A column of whole numbers, with commas."""
    return Label(header, lambda line: f"{getattr(line, attribute):,}")


@dataclass(frozen=True)
class Pivot:
    """The lines that differ in ``label`` alone, side by side in the documentation.

    ``headers`` are the headers of the last figure (a ratio), by the text of ``label``. All other
    figures come from the line whose text is ``base``.
    """

    label: Label
    base: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table: a row for each of ``lines``, columns of labels and then of figures.

    ``title`` heads it in the terminal and ``prose`` introduces it in the documentation, which
    leaves out a table without prose, and lines for which ``in_readme`` is false. ``heading`` stands
    above the prose in the sections of a benchmark's page. ``compact`` tables are also in compact
    sections. With ``group``, the terminal shows a table for each text of that label.
    """

    title: str
    prose: str
    lines: Sequence[Any]
    labels: Sequence[Label]
    figures: Sequence[Figure]
    pivot: Pivot | None = None
    group: Label | None = None
    compact: bool = True
    heading: str = ""
    in_readme: Callable[[Any], bool] = field(default=lambda _line: True)
