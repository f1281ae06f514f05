"""A run as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lazyentity.bench.goals import Outcome
from lazyentity.bench.results import (
    UNITS,
    Conversion,
    DocumentFloor,
    EndToEnd,
    Results,
    Scaling,
)
from lazyentity.bench.stats import Summary

_Line = TypeVar("_Line", Conversion, EndToEnd)


def spread(summary: Summary, digits: int = 1) -> str:
    """A median, and half the distance of its quartiles in percent of it."""
    half = (summary.q3 - summary.q1) / 2
    percent = 100 * half / summary.median if summary.median else 0
    return f"{summary.median:.{digits}f} ±{percent:.0f}%"


def _spread_or_dash(summary: Summary | None, digits: int = 1) -> str:
    return "-" if summary is None else spread(summary, digits)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _by_properties(lines: Sequence[_Line]) -> Iterator[tuple[_Line, bool]]:
    """Give each line, and whether the next is of another number of properties."""
    for line, following in zip_longest(lines, lines[1:]):
        yield line, following is not None and following.properties != line.properties


def _conversion(mix: str, lines: Sequence[Conversion]) -> Table:
    table = _table(
        f"{mix}: bytes in, entities out, µs per entity",
        "props",
        "bytes",
        "read",
        "stock",
        "lazy",
        "upb alone",
        "ratio",
    )
    for line, ends_section in _by_properties(lines):
        table.add_row(
            str(line.properties),
            str(line.wire_bytes),
            line.read,
            spread(line.stock),
            spread(line.lazy),
            spread(line.upb_parse),
            spread(line.ratio),
            end_section=ends_section,
        )
    return table


def _read_modify_write(results: Results) -> Table:
    table = _table(
        "mixed: bytes in, 1 read, some changed, bytes out, µs per entity",
        "props",
        "bytes",
        "changed",
        "stock",
        "lazy",
        "ratio",
    )
    for line in results.read_modify_write:
        table.add_row(
            str(line.properties),
            str(line.wire_bytes),
            line.changed,
            spread(line.stock),
            spread(line.lazy),
            spread(line.ratio),
        )
    return table


def _puts(results: Results) -> Table:
    table = _table(
        "fresh entities in, messages out, µs per entity",
        "mix",
        "props",
        "bytes",
        "stock",
        "lazy",
        "ratio",
    )
    for line in results.puts:
        table.add_row(
            line.mix,
            str(line.properties),
            str(line.wire_bytes),
            spread(line.stock),
            spread(line.lazy),
            spread(line.ratio),
        )
    return table


def _document_floor(floor: DocumentFloor) -> Table:
    table = _table("the whole document read by the same loop, ms", "from", "time", "stock / it")
    for what, summary, ratio in (
        ("stock", floor.stock, None),
        ("lazy", floor.lazy, floor.ratio),
        ("JSON", floor.json, floor.json_ratio),
        ("decoded before", floor.loop, None),
    ):
        table.add_row(what, spread(summary), _spread_or_dash(ratio))
    return table


def _memory(results: Results) -> Table:
    table = _table(
        "memory held, bytes per entity, mixed, 4 read",
        "props",
        "bytes",
        "stock",
        "lazy",
        "upb message",
        "lazy / stock",
    )
    for line in results.memory:
        table.add_row(
            str(line.properties),
            str(line.wire_bytes),
            spread(line.stock, 0),
            spread(line.lazy, 0),
            spread(line.upb_message, 0),
            spread(line.ratio, 2),
        )
    return table


def _end_to_end(results: Results) -> Table:
    table = _table(
        "end to end over loopback gRPC, ms per call, mixed, 1 read or changed; floor: nothing "
        "decoded",
        "call",
        "stock",
        "lazy",
        "floor",
        "ratio",
        "/ floor",
    )
    for line in results.end_to_end:
        # A second call goes on a line of its own, or 80 columns would not hold the figures.
        calls = line.call.replace(", ", ",\n")
        table.add_row(
            f"{calls} {line.entities}x{line.properties}",
            spread(line.stock),
            spread(line.lazy),
            _spread_or_dash(line.floor),
            spread(line.ratio),
            _spread_or_dash(line.over_floor),
        )
    return table


def _calls(call: str, lines: Sequence[EndToEnd]) -> Table:
    table = _table(
        f"{call}: over loopback gRPC, ms per call",
        "entities x props",
        "read",
        "stock",
        "lazy",
        "ratio",
    )
    for line, ends_section in _by_properties(lines):
        table.add_row(
            f"{line.entities} x {line.properties}",
            line.read,
            spread(line.stock),
            spread(line.lazy),
            spread(line.ratio),
            end_section=ends_section,
        )
    return table


def _scaling(lines: Sequence[Scaling]) -> Table:
    table = _table(
        "one response that grows, mixed, 4 read; growth: µs per unit / those of the size before",
        "entities x props",
        "bytes",
        "µs per",
        "stock",
        "lazy",
        "growth",
    )
    for line in lines:
        for point in line.points:
            table.add_row(
                f"{point.entities} x {point.properties}",
                str(point.wire_bytes),
                UNITS[line.growing],
                _spread_or_dash(point.stock, 3),
                spread(point.lazy, 4),
                _spread_or_dash(point.growth, 2),
            )
        table.add_section()
    return table


def environment_line(results: Results) -> str:
    """Where a run was made, in one line."""
    where = results.environment
    versions = ", ".join(
        f"{package} {version}"
        for package, version in where.versions.items()
        if package != "lazyentity"
    )
    return (
        f"{where.python}, {versions} ({where.protobuf_implementation}), {where.backend} backend; "
        f"{where.cpu}, {where.cores} cores, {where.system}"
    )


def show(results: Results, console: Console) -> None:
    """Print a run: its bias first, then what was measured."""
    console.print(Text(results.bias, style="italic"))
    console.print(Text(environment_line(results)))
    console.print(
        Text(
            "Figures are medians; ± is half the interquartile range. Ratios are stock / lazy. Read "
            "eager: all read, inside lazyentity.eager()."
        )
    )
    if results.source is not None:
        console.print(Text(results.source))
    for mix, lines in groupby(results.conversion, key=lambda line: line.mix):
        console.print(_conversion(mix, list(lines)))
    if results.document_floor is not None:
        console.print(_document_floor(results.document_floor))
    if results.read_modify_write:
        console.print(_read_modify_write(results))
    if results.puts:
        console.print(_puts(results))
    if results.memory:
        console.print(_memory(results))
    if results.has_floor:
        console.print(_end_to_end(results))
    else:
        for call, reads in groupby(results.end_to_end, key=lambda line: line.call):
            console.print(_calls(call, list(reads)))
    if results.scaling:
        console.print(_scaling(results.scaling))
    if results.import_ms is not None:
        console.print(
            f"import lazyentity.auto adds {spread(results.import_ms)} ms", highlight=False
        )
    if results.access is not None:
        console.print(
            Text(
                f'entity["name"], once decoded: {spread(results.access.entity)} ns, a plain dict '
                f"{spread(results.access.plain_dict)} ns, ratio {spread(results.access.ratio)}"
            )
        )


def show_goals(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print each goal, met or missed."""
    for outcome in outcomes:
        mark = Text("met    ", style="green") if outcome.met else Text("MISSED ", style="bold red")
        console.print(mark + Text(str(outcome)), soft_wrap=True)
