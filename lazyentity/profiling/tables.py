"""The report of a profile in the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.report import Report

LINES = 15
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


Rows = list[tuple[str, ...]]
Section = tuple[str, tuple[str, ...], Rows]
"""A title, the headers of columns, and rows."""


def sections(report: Report) -> Iterable[Section]:
    """Return the tables of a report, without empty ones."""
    for title, headers, rows in _all_sections(report):
        if rows:
            yield title, headers, rows


def _all_sections(report: Report) -> Iterable[Section]:
    yield (
        "Received, by kind",
        ("kind", "entities", "bytes", "properties", "decoded", "CPU saved (estimate)"),
        [
            (
                name_of(kind.kind),
                f"{kind.entities:,}" + (f" + {kind.eager:,} eager" if kind.eager else ""),
                size(kind.bytes + kind.eager_bytes),
                f"{kind.properties_received:,}",
                share(kind.properties_decoded, kind.properties_received),
                duration(kind.estimated_seconds_saved),
            )
            for kind in report.kinds
        ],
    )
    yield (
        "Decoded, by property",
        ("kind", "property", "received", "decoded", "share"),
        [
            (
                name_of(kind.kind),
                each.name,
                f"{each.received:,}",
                f"{each.decoded:,}",
                share(each.decoded, each.received),
            )
            for kind in report.kinds
            for each in kind.properties[:LINES]
            if each.decoded
        ],
    )
    yield (
        "Code that decodes everything",
        ("site", "operation", "kind", "calls", "properties"),
        [
            (
                place(whole.site),
                whole.operation + (f" by {whole.site.via}" if whole.site.via else ""),
                name_of(whole.kind),
                f"{whole.calls:,}",
                f"{whole.properties:,}",
            )
            for whole in report.wholes
        ],
    )
    yield (
        "Reads of one property after another",
        ("received at", "kind", "entities", "reads", "properties"),
        [
            (
                place(reads.site),
                name_of(reads.kind),
                f"{reads.entities:,}",
                f"{reads.reads:,}",
                ", ".join(reads.one_by_one),
            )
            for reads in report.sites
            if reads.one_by_one
        ],
    )
    yield (
        "Options of wrap()",
        ("received at", "kind", "options", "reason"),
        [
            (
                place(reads.site),
                name_of(reads.kind),
                reads.suggestion.options or "-",
                reads.suggestion.reason,
            )
            for reads in report.sites
        ],
    )
    yield (
        "Held in memory (unread: the bytes that detach() frees)",
        ("received at", "kind", "alive", "bytes", "unread (about)", "mean bytes", "longest"),
        [
            (
                place(held.site),
                name_of(held.kind),
                f"{held.alive:,}",
                size(held.bytes),
                size(held.unread_bytes),
                size(held.mean_bytes),
                duration(held.longest_seconds),
            )
            for held in report.held
            if held.alive or held.longest_seconds >= _LONG
        ],
    )
    yield (
        "Undecoded properties that reached other code and were used",
        ("site", "by", "use", "count"),
        [
            (place(met.site), met.site.via or "-", met.use, f"{met.count:,}")
            for met in report.sentinels
        ],
    )
    yield (
        "Advice, and what your program may notice of it",
        ("at", "kind", "do", "what changes"),
        [
            (place(one.site), one.kind or "-", f"{one.call} {one.place}.", one.changes)
            for one in report.advice
        ],
    )


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


def show(report: Report, console: Any) -> None:
    """Print a report to a console of rich."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console.print(Text(headline(report), style="bold"))
    for title, headers, rows in sections(report):
        # Not as the table's own title, which is no wider than the table.
        console.print(Text(title, style="bold"))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for number, header in enumerate(headers):
            table.add_column(header, justify=_justify(rows, number), overflow="fold")
        for row in rows[:LINES]:
            # A Text: in a string, brackets would be markup.
            table.add_row(*map(Text, row))
        console.print(table)
        if len(rows) > LINES:
            console.print(Text(f"and {len(rows) - LINES} more, in JSON and HTML"))
    if report.kinds:
        console.print(Text(report.estimate.note, style="italic"))


def _justify(rows: Sequence[tuple[str, ...]], number: int) -> Any:
    are_numbers = all(row[number][:1].isdigit() or row[number] == "-" for row in rows)
    return "right" if are_numbers else "left"


def text(report: Report) -> str:
    """Return a report as text.

    Raises:
        ImportError: if rich is not installed.
    """
    try:
        from rich.console import Console
    except ModuleNotFoundError as error:
        raise ImportError(
            "the tables of a profile need rich; install lazyentity[profile], or take html()"
        ) from error
    output = io.StringIO()
    show(report, Console(file=output, width=_WIDTH))
    return output.getvalue()
