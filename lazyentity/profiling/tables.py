"""The report of a profile in the terminal, and the tables that the page has, too."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.report import Report

LINES: Final = 15
"""How many lines a table has at most."""
_WIDTH = 110
_LONG = 1.0
"""Entities that were no longer in memory than these seconds are not worth a line."""
_KIBIBYTE = 1024


def size(count: float) -> str:
    """Return a number of bytes in a suitable unit."""
    for unit in ("B", "KiB", "MiB"):
        if count < _KIBIBYTE:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= _KIBIBYTE
    return f"{count:.1f} GiB"


def share(part: float, whole: float) -> str:
    """Return a part in percent of the whole."""
    return f"{part / whole:.0%}" if whole else "-"


def duration(seconds: float) -> str:
    """Return a time in a suitable unit."""
    if abs(seconds) < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if abs(seconds) < 1 else f"{seconds:.1f} s"


def place(site: CallSite) -> str:
    """Return a site, shorter where it is below the working directory."""
    if not site.file:
        return site.function
    path = Path(site.file)
    try:
        shown = path.relative_to(Path.cwd())
    except (OSError, ValueError):
        shown = path
    earlier = ", after it received the entities" if site.is_earlier else ""
    return f"{shown}:{site.line} {site.function}{earlier}"


def name_of(kind: str | None) -> str:
    """Return the name of a kind."""
    return "(no key)" if kind is None else kind


Row = dict[str, str]
"""The texts of a row's cells by the headers of their columns."""

_TABLES: Final[dict[str, Callable[[Report], Iterable[Row]]]] = {
    "Received, by kind": lambda report: (
        {
            "kind": name_of(kind.kind),
            "entities": f"{kind.entities:,}" + (f" + {kind.eager:,} eager" if kind.eager else ""),
            "bytes": size(kind.bytes + kind.eager_bytes),
            "properties": f"{kind.properties_received:,}",
            "decoded": share(kind.properties_decoded, kind.properties_received),
            "CPU saved (estimate)": duration(kind.estimated_seconds_saved),
        }
        for kind in report.kinds
    ),
    "Decoded, by property": lambda report: (
        {
            "kind": name_of(kind.kind),
            "property": each.name,
            "received": f"{each.received:,}",
            "decoded": f"{each.decoded:,}",
            "share": share(each.decoded, each.received),
        }
        for kind in report.kinds
        for each in kind.properties[:LINES]
        if each.decoded
    ),
    "Code that decodes everything": lambda report: (
        {
            "site": place(whole.site),
            "operation": whole.operation + (f" by {whole.site.via}" if whole.site.via else ""),
            "kind": name_of(whole.kind),
            "calls": f"{whole.calls:,}",
            "properties": f"{whole.properties:,}",
        }
        for whole in report.wholes
    ),
    "Reads of one property after another": lambda report: (
        {
            "received at": place(reads.site),
            "kind": name_of(reads.kind),
            "entities": f"{reads.entities:,}",
            "reads": f"{reads.reads:,}",
            "properties": ", ".join(reads.one_by_one),
        }
        for reads in report.sites
        if reads.one_by_one
    ),
    "Options of wrap()": lambda report: (
        {
            "received at": place(reads.site),
            "kind": name_of(reads.kind),
            "options": reads.suggestion.options or "-",
            "reason": reads.suggestion.reason,
        }
        for reads in report.sites
    ),
    "Held in memory (unread: the bytes that detach() frees)": lambda report: (
        {
            "received at": place(held.site),
            "kind": name_of(held.kind),
            "alive": f"{held.alive:,}",
            "bytes": size(held.bytes),
            "unread (about)": size(held.unread_bytes),
            "mean bytes": size(held.mean_bytes),
            "longest": duration(held.longest_seconds),
        }
        for held in report.held
        if held.alive or held.longest_seconds >= _LONG
    ),
    "Undecoded properties that reached other code and were used": lambda report: (
        {
            "site": place(met.site),
            "by": met.site.via or "-",
            "use": met.use,
            "count": f"{met.count:,}",
        }
        for met in report.sentinels
    ),
    "Advice, and what your program may notice of it": lambda report: (
        {
            "at": place(one.site),
            "kind": one.kind or "-",
            "do": f"{one.call} {one.place}.",
            "what changes": one.changes,
        }
        for one in report.advice
    ),
}


def sections(report: Report) -> Iterator[tuple[str, dict[str, bool], list[Row]]]:
    """Yield the tables of a report that have rows.

    Yields:
        The title; by header, whether the column has numbers; the rows.
    """
    for title, rows_of in _TABLES.items():
        rows = list(rows_of(report))
        if rows:
            yield title, {header: _are_numbers(header, rows) for header in rows[0]}, rows


def _are_numbers(header: str, rows: list[Row]) -> bool:
    return all(row[header][:1].isdigit() or row[header] == "-" for row in rows)


def headline(report: Report) -> str:
    """Return the sum of a report in a sentence."""
    entities = sum(kind.entities + kind.eager for kind in report.kinds)
    received = sum(kind.properties_received for kind in report.kinds)
    decoded = sum(kind.properties_decoded for kind in report.kinds)
    if not entities:
        return f"lazyentity profile, {duration(report.seconds)}: no entities were received."
    saved = duration(report.estimate.saved_seconds)
    return (
        f"lazyentity profile, {duration(report.seconds)}, {report.backend} backend: "
        f"{entities:,} entities, {decoded:,} of {received:,} properties decoded "
        f"({share(decoded, received)}); about {saved} of CPU saved (estimate)."
    )


def text(report: Report) -> str:
    """Return a report as text.

    Raises:
        ImportError: if rich is not installed.
    """
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ModuleNotFoundError as error:
        raise ImportError(
            "the tables of a profile need rich; install lazyentity[profile], or take html()"
        ) from error
    output = io.StringIO()
    console = Console(file=output, width=_WIDTH)
    # Not every terminal and file can have rich's own lines, as on Windows.
    lines = box.Box(str(box.SIMPLE_HEAD).replace("─", "-"), ascii=True)
    console.print(Text(headline(report), style="bold"))
    for title, columns, rows in sections(report):
        # Not as the table's own title, which is no wider than the table.
        console.print(Text(title, style="bold"))
        table = Table(box=lines, pad_edge=False)
        for header, is_number in columns.items():
            table.add_column(header, justify="right" if is_number else "left", overflow="fold")
        for row in rows[:LINES]:
            # A Text: in a string, brackets would be markup.
            table.add_row(*map(Text, row.values()))
        console.print(table)
        if len(rows) > LINES:
            console.print(Text(f"and {len(rows) - LINES} more, in JSON and HTML"))
    if report.kinds:
        console.print(Text(report.estimate.note, style="italic"))
    return output.getvalue()
