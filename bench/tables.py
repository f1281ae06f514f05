"""The tables of a run, in a terminal and as blocks of text for a page."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lazyentity.bench import own
from lazyentity.bench.harness import PER_CALL
from lazyentity.bench.results import Line, Results, Summary

BIAS = (
    "One machine, synthetic entities whose bytes stay warm in its caches, and no network but the "
    "loopback interface: a real service adds latency that no decoder can take away. The garbage "
    "collector is off while the clock runs. Figures are medians; times of conversions are CPU "
    "time, those of calls wall time; ratios, stock over lazy, are taken pair by pair from "
    "interleaved rounds."
)
"""The bias of every figure; shown wherever figures are shown."""

OWN_BIAS = (
    "Your entities, on this machine: their bytes stay warm in its caches, and the garbage "
    "collector is off while the clock runs. A call is the query as this machine sends it, timed "
    "with nothing decoded; the CPU time of decoding is taken by itself, on the same bytes, and "
    "added."
)
"""The bias of a run on the user's own entities."""

PAGE_WIDTH = 100
_EXAMPLE_WIDTH = 80


def _table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], labels: int) -> Table:
    """Make a table, whose first columns are ``labels``, aligned to the left."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for number, header in enumerate(headers):
        # Headers break between words, figures nowhere.
        width = max(len(part) for part in (*(row[number] for row in rows), *header.split()))
        table.add_column(header, justify="left" if number < labels else "right", min_width=width)
    for row in rows:
        # A Text: in a string, brackets would be markup.
        table.add_row(*map(Text, row))
    return table


def _times(value: Summary) -> str:
    ratio = value.median
    return f"{ratio:,.{1 if ratio < 100 else 0}f}x"


def _spread(value: Summary) -> str:
    """A ratio, and half the distance of its quartiles in percent of it."""
    if value.rounds == 1 or not value.median:
        return _times(value)
    return f"{_times(value)} ±{50 * (value.q3 - value.q1) / value.median:.0f}%"


def _time(value: Summary) -> str:
    return f"{value.median:,.{2 if value.median < 10 else 1}f}"


def _size(line: Line) -> str:
    return f"{line.entities:,} x {line.properties:,}"


def _each(section: str, lines: Sequence[Line]) -> Table:
    """A row for each case."""
    headers = ("call", "entities x properties", "done", "stock", "lazy")
    rows = []
    for line in lines:
        unit = line.unit.partition(" ")[0]
        times = (f"{_time(side)} {unit}" for side in (line.stock, line.lazy))
        cpu = "-" if line.cpu_ratio is None else _spread(line.cpu_ratio)
        rows.append([line.case, _size(line), line.done, *times, _spread(line.ratio), cpu])
    units = "; ".join(dict.fromkeys(line.unit for line in lines))
    return _table(f"{section}: {units}", (*headers, "stock / lazy", "CPU"), rows, 1)


_BASES = ("4 read", "1 changed", "put", "to_dict()")
"""The reads and changes whose times are shown, of a case that has several."""


def _by_shape(section: str, lines: Sequence[Line]) -> Table:
    """A row for entities of one shape, with the times of the middle read and a ratio for each."""
    shapes = groupby(lines, key=lambda line: (line.case, line.properties))
    groups = [(shape, {line.done: line for line in group}) for shape, group in shapes]
    # Entities of one property have no "4 read": the longest group gives the order.
    _, most = max(groups, key=lambda group: len(group[1]))
    done = list(dict.fromkeys([*most, *(line.done for line in lines)]))
    base = next(each for each in _BASES if each in done)
    rows = []
    for (case, properties), by_done in groups:
        shown = by_done.get(base)
        times = ("-", "-") if shown is None else (_time(shown.stock), _time(shown.lazy))
        ratios = [_times(by_done[each].ratio) if each in by_done else "-" for each in done]
        rows.append([case, f"{properties:,}", *times, *ratios])
    headers = ("entities", "properties", f"stock µs, {base}", f"lazy µs, {base}", *done)
    return _table(f"{section}: µs per entity; stock / lazy", headers, rows, 1)


def tables(results: Results) -> Iterator[Table]:
    """The tables of a run, one for each section."""
    if results.own_call is not None:
        rate = results.own_call.rate
        if rows := [call.cells() for call in own.calls(results)]:
            title = f"ms a call, share of decoding, CPU cores saved at {rate:g}/s"
            yield _table(title, own.HEADERS, rows, 1)
            return
    for section, group in groupby(results.lines, key=lambda line: line.section):
        lines = list(group)
        has_shapes = section != "calls" and any(line.done in _BASES for line in lines)
        yield (_by_shape if has_shapes else _each)(section, lines)


def _print(console: Console, table: Table) -> None:
    # A line that is wrapped shows all figures; rich would crop it.
    least = console.measure(table).minimum
    console.print(table, width=max(console.width, least), crop=False)


def show(results: Results, console: Console) -> None:
    """Print a run: its bias first."""
    console.print(Text(BIAS if results.mode != "own" else OWN_BIAS, style="italic"))
    console.print(Text(str(results.environment)))
    if results.interrupted:
        console.print(Text("Interrupted: the measurements that were not made are missing."))
    if results.source is not None:
        console.print(Text(results.source))
    for table in tables(results):
        _print(console, table)
    if (outcome := own.outcome(results)) is not None:
        console.print(Text(outcome))


def _exported(shown: Table | Text, width: int) -> str:
    """The text of a table or a sentence, without empty lines."""
    console = Console(width=width, file=io.StringIO(), record=True)
    if isinstance(shown, Table):
        _print(console, shown)
    else:
        console.print(shown)
    lines = (line.rstrip() for line in console.export_text().splitlines())
    return "\n".join(filter(None, lines))


def _block(language: str, *parts: str) -> str:
    text = textwrap.indent("\n\n".join(parts), "   ")
    return f".. code-block:: {language}\n\n{text}"


def page(results: Results) -> str:
    """The results as a part of a page."""
    measured = f"Measured on {results.date[:10]}: {results.environment}."
    parts = [_exported(table, PAGE_WIDTH) for table in tables(results)]
    introduction = "\n".join(textwrap.wrap(measured, PAGE_WIDTH))
    return f"{introduction}\n\n{_block('text', *parts)}"


def example(results: Results, command: str) -> str:
    """A command on the user's own entities and its outcome, as a block of a page."""
    table = _exported(next(tables(results)), _EXAMPLE_WIDTH)
    outcome = _exported(Text(own.outcome(results) or ""), _EXAMPLE_WIDTH)
    return _block("console", f"$ {command}\n{table}\n{outcome}")


def headline(results: Results, call: str) -> str:
    """The sentence about a query of 300 entities of 100 properties, of which one is read.

    Raises:
        ValueError: the run has no such query.
    """
    line = find(results, call, 300, 100)
    article = "An" if call[0] in "aeiou" else "A"
    sentence = (
        f"{article} {call} of {line.entities} entities of {line.properties} properties, one of "
        f"them read, takes {line.lazy.median:.1f} ms instead of {line.stock.median:.1f} ms with "
        f"the {results.environment.backend} backend, measured end to end over gRPC to a server on "
        "the same machine."
    )
    return "\n".join(textwrap.wrap(sentence, PAGE_WIDTH))


def find(results: Results, call: str, entities: int, properties: int) -> Line:
    """The line of a call.

    Raises:
        ValueError: it was not measured.
    """
    wanted = call, entities, properties, PER_CALL
    for line in results.lines:
        if (line.case, line.entities, line.properties, line.unit) == wanted:
            return line
    raise ValueError(
        f"there is no {call} of {entities} entities of {properties} properties in this run"
    )
