"""The benchmark section of the README, rendered from a results file.

``python -m lazyentity.bench.report RESULTS.json`` prints it, ``--update README.rst`` puts it
between the two marker comments of that file, and ``--check README.rst`` fails if what is there
differs. ``--section NAME`` names the markers, so that a file can hold sections from several results
files: ``.. NAME-start`` and ``.. NAME-end``. ``--compact`` leaves out what a section further up
says already.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from tabulate import tabulate

from lazyentity.bench import results, tables
from lazyentity.bench.cases import DOCUMENT
from lazyentity.bench.results import (
    UNITS,
    Conversion,
    DocumentFloor,
    EndToEnd,
    Put,
    ReadModifyWrite,
    Results,
)
from lazyentity.bench.stats import Summary

SECTION = "benchmark-table"

_WIDTH = 100
_MIX_TITLES = {
    "mixed": "Six types in rotation (strings, integers, floats, booleans, timestamps, blobs)",
    "strings": "Strings only",
    "nested": "Embedded entities and arrays, read to their leaves",
}
_MODEL_TITLES = {
    "Model": "Models of six types in rotation",
    "Expando": "The same entities as Expandos, all of their properties dynamic",
}
_COMPACT_MIXES = ("mixed",)
_SHOWN_COUNTS = (5, 20, 100, 500, 1000)


# By the cells that label a row, and by what is read of each entity.
_Lines = dict[tuple[tuple[str, ...], str], Conversion | EndToEnd]


class MarkersMissing(Exception):
    """A file has not both markers, in order."""


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    # numparse would rewrite the figures; every cell is text already.
    return tabulate(list(rows), headers, tablefmt="rst", disable_numparse=True, stralign="right")


def _prose(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False, break_long_words=False)


def _ratio(line: Conversion | EndToEnd | ReadModifyWrite | Put | None) -> str:
    if line is None:
        return "not measured"
    return _quartiles(line.ratio)


def _quartiles(ratio: Summary) -> str:
    return f"{ratio.median:.1f}x ({ratio.q1:.1f}-{ratio.q3:.1f})"


def _conversion(measured: Results, mix: str) -> str:
    lines = {(line.properties, line.read): line for line in measured.conversion if line.mix == mix}
    rows = []
    for count in _SHOWN_COUNTS:
        four = lines.get((count, "4"))
        if four is None:
            continue
        rows.append(
            (
                str(count),
                str(four.wire_bytes),
                f"{four.stock.median:.1f}",
                f"{four.lazy.median:.1f}",
                f"{four.upb_parse.median:.1f}",
                _ratio(four),
                _ratio(lines.get((count, "all"))),
                _ratio(lines.get((count, "items"))),
            )
        )
    headers = (
        "properties",
        "bytes",
        "stock µs",
        "lazy µs, 4 read",
        "upb parse alone µs",
        "4 read",
        "all read by name",
        "items()",
    )
    return _table(headers, rows)


def _models(measured: Results, kind_of_class: str) -> str:
    lines: _Lines = {
        ((str(line.properties),), line.read): line
        for line in measured.conversion
        if line.mix == kind_of_class
    }
    return _by_reads(("properties",), "µs", ("0", "4", "all"), lines)


def _by_reads(
    labels: Sequence[str],
    unit: str,
    reads: Sequence[str],
    lines: _Lines,
) -> str:
    """A row for each label of which four properties were read."""
    rows = (
        (
            *label,
            f"{line.stock.median:.1f}",
            f"{line.lazy.median:.1f}",
            *(_ratio(lines.get((label, count))) for count in reads),
        )
        for (label, read), line in lines.items()
        if read == "4"
    )
    headers = ("none read" if count == "0" else f"{count} read" for count in reads)
    return _table((*labels, f"stock {unit}, 4 read", f"lazy {unit}, 4 read", *headers), rows)


def _read_modify_write(measured: Results) -> str:
    lines = {(line.properties, line.changed): line for line in measured.read_modify_write}
    rows = (
        (
            str(properties),
            str(line.wire_bytes),
            f"{line.stock.median:.1f}",
            f"{line.lazy.median:.1f}",
            *(_ratio(lines.get((properties, count))) for count in ("0", "1", "half", "all")),
        )
        for (properties, changed), line in lines.items()
        if changed == "1"
    )
    headers = (
        "properties",
        "bytes",
        "stock µs, 1 changed",
        "lazy µs, 1 changed",
        "none changed",
        "1 changed",
        "half changed",
        "all changed",
    )
    return _table(headers, rows)


def _puts(lines: Iterable[Put]) -> str:
    rows = (
        (
            str(line.properties),
            str(line.wire_bytes),
            f"{line.stock.median:.1f}",
            f"{line.lazy.median:.1f}",
            _ratio(line),
        )
        for line in lines
    )
    return _table(("properties", "bytes", "stock µs", "lazy µs", "stock / lazy"), rows)


def _document(measured: Results) -> str:
    directions: tuple[tuple[str, Sequence[Conversion | Put]], ...] = (
        ("all of it read", measured.conversion),
        ("written", measured.puts),
    )
    rows = (
        (
            direction,
            f"{line.wire_bytes / 1000:.0f}",
            f"{line.stock.median / 1000:.1f}",
            f"{line.lazy.median / 1000:.1f}",
            _ratio(line),
        )
        for direction, lines in directions
        for line in lines
        if line.mix == DOCUMENT
    )
    return _table(("document", "kB", "stock ms", "lazy ms", "stock / lazy"), rows)


def _document_floor(floor: DocumentFloor) -> str:
    lines = (
        ("stock", floor.stock, ""),
        ("lazy", floor.lazy, _quartiles(floor.ratio)),
        ("JSON into plain dicts", floor.json, _quartiles(floor.json_ratio)),
        ("decoded before", floor.loop, ""),
    )
    rows = ((what, f"{summary.median:.1f}", ratio) for what, summary, ratio in lines)
    return _table(("read by the same loop", "ms", "stock / it"), rows)


def _end_to_end(measured: Results) -> str:
    rows = (
        (
            f"{line.call} of {line.entities} x {line.properties}, {line.done}",
            f"{line.stock.median:.1f}",
            f"{line.lazy.median:.1f}",
            "" if line.floor is None else f"{line.floor.median:.1f}",
            _ratio(line),
        )
        for line in measured.end_to_end
    )
    return _table(("call", "stock ms", "lazy ms", "undecoded bytes ms", "stock / lazy"), rows)


def _calls(measured: Results) -> str:
    lines: _Lines = {
        ((line.call, f"{line.entities} x {line.properties}"), line.read): line
        for line in measured.end_to_end
    }
    return _by_reads(("call", "entities x properties"), "ms", ("0", "1", "4", "all"), lines)


def _memory(measured: Results) -> str:
    rows = (
        (
            str(line.properties),
            f"{line.stock.median / 1024:.1f}",
            f"{line.lazy.median / 1024:.1f}",
            f"{line.upb_message.median / 1024:.1f}",
            f"{line.ratio.median:.2f}x",
        )
        for line in measured.memory
    )
    return _table(
        ("properties", "stock KiB", "lazy KiB", "parsed upb message KiB", "lazy / stock"), rows
    )


def _scaling(measured: Results) -> str:
    rows = (
        (
            f"{point.entities:,} x {point.properties:,}",
            UNITS[line.growing],
            "not measured" if point.stock is None else f"{point.stock.median:.3g}",
            f"{point.lazy.median:.3g}",
        )
        for line in measured.scaling
        for point in line.points
    )
    return _table(("entities x properties", "µs per", "stock", "lazy"), rows)


def render(measured: Results, compact: bool = False) -> str:
    """The section as reStructuredText: bias, surroundings, tables.

    ``compact`` is for a section below a full one: without the bias and how to read the figures, and
    of the tables only mixed entities, writes, end to end and memory.
    """
    blocks = [_prose(f"Measured on {measured.date[:10]}: {tables.environment_line(measured)}.")]
    if not compact:
        blocks.insert(0, _prose(measured.bias))
        blocks.append(
            _prose(
                "Ratios are stock time over lazy time: medians, with their quartiles in "
                "parentheses. Times are per entity, from the bytes of a response of 20 entities to "
                "the values read."
            )
        )
    measured_mixes = {line.mix for line in measured.conversion}
    for mix, title in _MIX_TITLES.items():
        if mix in measured_mixes and (not compact or mix in _COMPACT_MIXES):
            blocks += [f"{title}:", _conversion(measured, mix)]
    for kind_of_class, title in _MODEL_TITLES.items():
        if kind_of_class in measured_mixes:
            blocks += [f"{title}:", _models(measured, kind_of_class)]
    if DOCUMENT in measured_mixes | {line.mix for line in measured.puts} and not compact:
        blocks += [
            _prose(
                "One property that holds a dict of dicts and lists, a few levels deep, of many "
                "small values:"
            ),
            _document(measured),
        ]
    if measured.document_floor is not None and not compact:
        blocks += [
            _prose(
                "Reading it, once more and next to what no decoder of entities can change: the "
                "same document parsed by msgspec as JSON, and the loop over entities that are "
                "decoded before:"
            ),
            _document_floor(measured.document_floor),
        ]
    if measured.read_modify_write:
        blocks += [
            _prose(
                "Entities of six mixed types read, changed and written: from the bytes of a "
                "response of 20 entities, one property read, to the serialised message of each. "
                "Times are per entity:"
            ),
            _read_modify_write(measured),
        ]
    if puts := [line for line in measured.puts if line.mix != DOCUMENT]:
        blocks += [
            _prose("Fresh entities of six mixed types to messages, as in a put, per entity:"),
            _puts(puts),
        ]
    if measured.has_floor:
        blocks += [
            "Through the client, over loopback gRPC, wall time of a call; *undecoded bytes* is the "
            "same path\nwith nothing decoded:",
            _end_to_end(measured),
        ]
    elif measured.end_to_end:
        blocks += [
            "Through the client, over loopback gRPC, wall time of a call:",
            _calls(measured),
        ]
    if measured.memory:
        blocks += ["Memory held by an entity of six mixed types, 4 read:", _memory(measured)]
    if measured.scaling and not compact:
        blocks += [
            _prose(
                "Cost per property and per entity as both grow, in one response of six mixed "
                "types, 4 read of each entity: where it stays the same, the whole grows linearly. "
                "What a response and the 4 reads cost is spread over more in the larger ones:"
            ),
            _scaling(measured),
        ]
    if measured.import_ms is not None and not compact:
        blocks.append(f"``import lazyentity.auto`` adds {measured.import_ms.median:.0f} ms.")
    return "\n\n".join(blocks)


def markers(section: str) -> tuple[str, str]:
    """The comments before and after the section of that name."""
    return f".. {section}-start", f".. {section}-end"


def put_between_markers(document: str, section: str, text: str) -> str:
    """``document`` with ``text`` between the markers of ``section``, in place of what was there.

    Raises:
        MarkersMissing: the document has not both markers, in order.
    """
    start, end = markers(section)
    before, has_start, rest = document.partition(start)
    _, has_end, after = rest.partition(end)
    if not (has_start and has_end):
        raise MarkersMissing(f"it needs the comments {start!r} and {end!r}, in that order")
    return f"{before}{start}\n\n{text}\n\n{end}{after}"


@click.command()
@click.argument("results_file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--update",
    type=click.Path(path_type=Path, dir_okay=False, exists=True, writable=True),
    help="Put the section between the markers of this file.",
)
@click.option(
    "--check",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Fail if the section between the markers of this file differs.",
)
@click.option(
    "--section",
    default=SECTION,
    show_default=True,
    metavar="NAME",
    help="The markers are the comments NAME-start and NAME-end.",
)
@click.option(
    "--compact",
    is_flag=True,
    help="Only mixed entities, writes, end to end and memory: for a section below a full one.",
)
def main(
    results_file: Path, update: Path | None, check: Path | None, section: str, compact: bool
) -> None:
    """Render the benchmark section of the README from RESULTS_FILE."""
    if update and check:
        raise click.UsageError("--update and --check exclude each other")
    document = update or check
    try:
        text = render(results.load(results_file), compact)
        if document is None:
            click.echo(text)
            return
        present = document.read_text(encoding="utf-8")
        wanted = put_between_markers(present, section, text)
    except results.ResultsError as error:
        raise click.ClickException(str(error)) from error
    except MarkersMissing as error:
        raise click.ClickException(f"{document}: {error}") from error
    if update:
        update.write_text(wanted, encoding="utf-8")
    elif wanted != present:
        raise click.ClickException(
            f"the section {section} of {check} is not that of {results_file}; python -m "
            f"lazyentity.bench.report {results_file} --section {section}"
            f"{' --compact' if compact else ''} --update {check} puts it right"
        )


if __name__ == "__main__":
    main(prog_name="python -m lazyentity.bench.report")
