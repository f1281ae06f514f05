"""The generated parts of the documentation: figures, the chart, and the table of clients.

As a command, ``python tools/tables.py`` writes the parts that are not up to date, and names the
files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from textwrap import wrap

import tabulate

CHECKOUT = Path(__file__).resolve().parent.parent

# As a command, this module is found by its path alone.
sys.path.insert(0, str(CHECKOUT))

from lazyentity.bench import chart, results, tables  # noqa: E402  # found by the line above
from lazyentity.bench.results import Results  # noqa: E402  # as above
from tools import clients  # noqa: E402  # as above

RESULTS = CHECKOUT / "bench" / "results"
CHARTS: dict[str, tuple[str, Callable[[Results], str]]] = {
    "datastore.svg": ("datastore", chart.svg),
    "by-read.svg": ("datastore", chart.by_read),
    "firestore.svg": ("firestore", chart.documents),
}
"""The charts beside the results: the file, the results, and the function that draws them."""
CLIENTS = "docs/clients/versions.rst"

_headline = partial(tables.headline, call="query")
_asyncio = partial(tables.headline, call="asyncio query")
_example = partial(
    tables.example,
    command="python -m lazyentity bench --kind Order --read amount,status --rate 200",
)


def choice(measured: Results) -> str:
    """Return the table of the three ways to begin, with the gain of each.

    Raises:
        ValueError: the results lack a query of 300 entities of 100 properties.
    """
    lines = (tables.find(measured, call, 300, 100) for call in ("eager query", "query"))
    eager, lazy = (f"{line.lazy.median:.1f} ms, not {line.stock.median:.1f}" for line in lines)
    return _simple_table(
        ("I want", "I write", "A query takes", "What changes", "To leave"),
        [
            (
                "no change but speed",
                "``lazyentity.patch(eager=True)``",
                eager,
                "stock entities, decoded faster",
                "``lazyentity.unpatch()``",
            ),
            (
                "to read few of many properties",
                "``import lazyentity.auto``",
                lazy,
                "a property is decoded when you read it",
                "``LAZYENTITY_DISABLE=1``",
            ),
            (
                "one query only",
                "``lazyentity.wrap(query)``",
                lazy,
                "the same, in this query alone",
                "remove the call",
            ),
        ],
    )


def adapted(measured: Results) -> str:
    """Return the table of calls without entities: the time with adapters over that without."""
    calls = [list(group) for _, group in groupby(measured.lines, key=lambda line: line.case)]
    rows = [
        (
            lines[0].case,
            f"{lines[0].stock.median:,.2f} µs",
            *(f"{1 / line.ratio.median:.2f}" for line in lines),
        )
        for lines in calls
    ]
    headers = ("call", "bare", *(line.done for line in calls[0]))
    date = "\n".join(wrap(f"Measured on {measured.date[:10]}: {measured.environment}.", 100))
    return f"{date}\n\n{_simple_table(headers, rows)}"


Part = tuple[str, str, str, Callable[[Results], str]]
"""A document, the name of its markers, the results, and the function that renders them."""

SENTENCES: tuple[Part, ...] = (
    ("README.rst", "choice", "datastore", choice),
    ("README.rst", "headline", "datastore", _headline),
    ("README.rst", "own", "own", _example),
    ("docs/index.rst", "choice", "datastore", choice),
    ("docs/index.rst", "headline", "datastore", _headline),
    ("docs/start/quickstart.rst", "choice", "datastore", choice),
    ("docs/start/quickstart.rst", "own", "own", _example),
    ("docs/guide/asyncio.rst", "asyncio", "datastore", _asyncio),
    ("docs/adapters.rst", "adapted", "adapters", adapted),
)
"""The parts that are no tables of a whole run."""

TABLES = re.compile(r"^\.\. (\S+)-table-start$", re.MULTILINE)
"""The begin of the tables of a results file, which has the name in the markers."""


def parts() -> Iterator[Part]:
    """Yield every part of every page that shows results."""
    yield from SENTENCES
    for path in sorted((CHECKOUT / "docs").rglob("*.rst")):
        for name in TABLES.findall(path.read_text("utf-8")):
            yield str(path.relative_to(CHECKOUT)), f"{name}-table", name, tables.page


class MarkersMissing(Exception):
    """A document does not say where a part belongs."""


def put_between_markers(document: str, name: str, text: str) -> str:
    """Return ``document`` with ``text`` between the markers, in place of the text there.

    Raises:
        MarkersMissing: the document lacks a marker, or has both in the wrong order.
    """
    start, end = f".. {name}-start", f".. {name}-end"
    before, has_start, rest = document.partition(start)
    _, has_end, after = rest.partition(end)
    if not (has_start and has_end):
        raise MarkersMissing(f"it needs the comments {start!r} and {end!r}, in that order")
    return f"{before}{start}\n\n{text}\n\n{end}{after}"


def wanted() -> dict[Path, str]:
    """Return every file with a generated part, with its up-to-date text.

    Raises:
        lazyentity.bench.results.ResultsError: a results file cannot be read.
        MarkersMissing, ValueError: a document lacks its markers, or results what it shows.
    """
    every = list(parts())
    measured = {name: results.load(RESULTS / f"{name}.json") for _, _, name, _ in every}
    files = {RESULTS / file: draw(measured[of]) for file, (of, draw) in CHARTS.items()}
    texts = [(document, name, render(measured[of])) for document, name, of, render in every]
    texts.append((CLIENTS, "clients", table_of_clients()))
    for document, name, text in texts:
        path = CHECKOUT / document
        present = files.get(path) or path.read_text(encoding="utf-8")
        files[path] = put_between_markers(present, name, text)
    return files


def table_of_clients() -> str:
    """Return the table of the supported clients, in reStructuredText."""
    rows = []
    for client in clients.clients():
        package = "." if client.name == clients.REQUIRED else f"'.[{client.name}]'"
        names = f'``patch("{client.name}")``', f"``pip install {package}``"
        rows.append((client.distribution, client.range, *names))
    return _simple_table(("Client", "Versions", "Patched by", "Installed by"), rows)


def _simple_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = tabulate.tabulate(rows, headers, tablefmt="rst", disable_numparse=True)
    return "\n".join(map(str.rstrip, text.splitlines()))


def main() -> None:
    """Write the files that are not up to date."""
    for path, text in wanted().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    main()
