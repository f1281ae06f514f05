"""The generated parts of the documentation: tables of results, charts, the table of clients.

As a command, ``python tools/tables.py`` writes the parts that are not up to date, and names the
files; ``--check`` changes nothing and fails if a part is not up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tabulate import tabulate

CHECKOUT = Path(__file__).resolve().parent.parent

# As a command, this module is found by its path alone.
sys.path.insert(0, str(CHECKOUT))

from lazyentity.bench.measure import bars, example, losses, page_results, page_tables  # noqa: E402  # found by the line above
from lazyentity.bench.measure.page_results import PageResults  # noqa: E402  # as above
from lazyentity.bench.report import chart, headline, readme, terminal  # noqa: E402  # as above
from lazyentity.bench.subjects import end_to_end_asyncio  # noqa: E402  # as above
from tools import clients  # noqa: E402  # as above

RESULTS = CHECKOUT / "bench" / "results"

_BACKENDS = "native", "pure"
_tables = readme.render
_compact_tables = partial(readme.render, compact=True, tables_of=page_tables.tables)
_asyncio = partial(headline.render, call=end_to_end_asyncio.CALL)
_example = partial(
    terminal.example, command=" ".join(("python -m lazyentity bench", *example.ARGUMENTS))
)


def _clients_with(suffix: str) -> tuple[str, ...]:
    """Return the names of the clients that have their own results with this suffix."""
    names = (client.name for client in clients.clients())
    return tuple(name for name in names if (RESULTS / f"{name}{suffix}.json").exists())


_CLIENTS = _clients_with("")
_CLIENTS_BY_BACKEND = _clients_with(f"-{_BACKENDS[0]}")

CHARTS = (*_BACKENDS, *_CLIENTS)
"""The results of which there is a chart, which has their name."""

SECTIONS: tuple[tuple[str, str, str, Callable[[PageResults], str]], ...] = (
    ("README.rst", "headline", "native", headline.render),
    ("docs/index.rst", "headline", "native", headline.render),
    ("docs/guide/asyncio.rst", "asyncio", "native", _asyncio),
    ("docs/guide/processes.rst", "import", "native", headline.of_import),
    *(
        (document, "own", "own", _example)
        for document in ("README.rst", "docs/start/quickstart.rst")
    ),
    ("docs/benchmarks/native.rst", "benchmark-table", "native", _tables),
    ("docs/benchmarks/pure.rst", "pure-benchmark-table", "pure", _compact_tables),
    *(
        (f"docs/benchmarks/{name}.rst", f"{name}-benchmark-table", name, _compact_tables)
        for name in _CLIENTS
    ),
    *(
        (f"docs/{name}.rst", f"{name}-{backend}-table", f"{name}-{backend}", _compact_tables)
        for name in _CLIENTS_BY_BACKEND
        for backend in _BACKENDS
    ),
    *(
        (
            f"docs/{room}.rst",
            f"{room}-{backend}-table",
            f"{room}-{backend}",
            _compact_tables,
        )
        for room in ("packed", "columns")
        for backend in _BACKENDS
    ),
    ("docs/adapters.rst", "adapters-table", "adapters", _compact_tables),
    ("docs/bulk.rst", "bulk-table", "bulk", _compact_tables),
    ("docs/snapshot.rst", "snapshot-table", "snapshot", _compact_tables),
    ("docs/guide/raw-cache.rst", "cache-table", "cache", _compact_tables),
    ("docs/start/alternatives.rst", "alternatives-table", "alternatives", _compact_tables),
    ("docs/benchmarks/calls.rst", "calls-table", "calls", _compact_tables),
    *(
        (f"docs/{client}.rst", f"{client}{section}-table", f"{client}-{results}", _compact_tables)
        for section, results in (
            ("", "connector"),
            ("", "documents"),
            ("-writes", "writes"),
            ("-pure", "documents-pure"),
            ("-writes-pure", "writes-pure"),
        )
        for client in _clients_with(f"-{results}")
    ),
)
"""Each: the document, the name of its markers, the results, and the function that renders them."""

LOSSES = "docs/benchmarks/losses.rst"
"""It has a section of every results file: the markers have the name of the file."""

CLIENTS = "docs/clients/versions.rst"


def wanted() -> dict[Path, str]:
    """Return every file with a generated part, with its up-to-date text.

    Raises:
        lazyentity.bench.harness.files.ResultsError: a results file cannot be read.
        lazyentity.bench.report.readme.MarkersMissing, ValueError: a document lacks its markers, or
            results what it shows.
    """
    measured = {name: page_results.load(RESULTS / f"{name}.json") for _, _, name, _ in SECTIONS}
    files = {RESULTS / f"{name}.svg": chart.svg(measured[name]) for name in CHARTS}
    files[RESULTS / "native-calls.svg"] = bars.svg(measured["native"])
    texts = [
        (document, section, render(measured[name])) for document, section, name, render in SECTIONS
    ]
    for document, section, text in (*texts, *_losses()):
        path = CHECKOUT / document
        present = files.get(path) or path.read_text(encoding="utf-8")
        files[path] = readme.put_between_markers(present, section, text)
    path = CHECKOUT / CLIENTS
    files[path] = readme.put_between_markers(path.read_text("utf-8"), "clients", table_of_clients())
    return files


def table_of_clients() -> str:
    """Return the table of the supported clients, in reStructuredText."""
    rows = []
    for client in clients.clients():
        package = (
            "lazyentity" if client.name == clients.REQUIRED else f"'lazyentity[{client.name}]'"
        )
        names = f'``patch("{client.name}")``', f"``pip install {package}``"
        rows.append((client.distribution, client.range, *names))
    return tabulate(
        rows, ("Client", "Versions", "Patched by", "Installed by"), "rst", disable_numparse=True
    )


def _losses() -> Iterator[tuple[str, str, str]]:
    """Yield the same of each section of the page about losses."""
    for path in sorted(RESULTS.glob("*.json")):
        measured = page_results.load(path)
        yield LOSSES, f"{path.stem}-losses", losses.render(measured)
        rest = losses.rest(measured)
        if rest is not None:
            yield LOSSES, f"{path.stem}-more-losses", rest


def main() -> None:
    """Write the parts, or check them, as the command line says.

    Raises:
        SystemExit: with ``--check``, a file is not up to date.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    is_check = parser.parse_args().check
    changed = [
        (path, text)
        for path, text in wanted().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    names = ", ".join(str(path.relative_to(CHECKOUT)) for path, _ in changed)
    if is_check and changed:
        raise SystemExit(f"not up to date: {names}; write them by make results WHAT=tables")
    for path, text in changed:
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    main()
