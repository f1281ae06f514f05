"""The generated parts of the documentation: tables of results, charts, the table of clients.

As a command, ``python tools/tables.py`` writes the parts that are not up to date, and names the
files; ``--check`` changes nothing and fails if a part is not up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tabulate import tabulate

CHECKOUT = Path(__file__).resolve().parent.parent

# As a command, this module is found by its path alone.
sys.path.insert(0, str(CHECKOUT))

from lazyentity.bench.measure import example, losses, page_results, page_tables  # noqa: E402  # found by the line above
from lazyentity.bench.measure.page_results import PageResults  # noqa: E402  # as above
from lazyentity.bench.report import chart, headline, readme, terminal  # noqa: E402  # as above
from lazyentity.bench.subjects import end_to_end  # noqa: E402  # as above
from tools import clients  # noqa: E402  # as above

RESULTS = CHECKOUT / "bench" / "results"

_tables = readme.render
_compact_tables = partial(readme.render, compact=True, tables_of=page_tables.tables)
_asyncio = partial(headline.render, call=end_to_end.ASYNCIO_QUERY)
_example = partial(
    terminal.example, command=" ".join(("python -m lazyentity bench", *example.ARGUMENTS))
)

Section = tuple[str, str, str, Callable[[PageResults], str]]
"""A document, the name of its markers, the results, and the function that renders them."""

SECTIONS: tuple[Section, ...] = (
    ("README.rst", "headline", "native", headline.render),
    ("docs/index.rst", "headline", "native", headline.render),
    ("docs/guide/asyncio.rst", "asyncio", "native", _asyncio),
    ("docs/guide/processes.rst", "import", "native", headline.of_import),
    ("README.rst", "own", "own", _example),
    ("docs/start/quickstart.rst", "own", "own", _example),
)
"""The sections that are no tables."""

TABLES = re.compile(r"^\.\. (\S+)-table-start$", re.MULTILINE)
"""The begin of the tables of a results file, which has the name in the markers."""

LOSSES = "docs/benchmarks/losses.rst"
"""The page with the losses of every results file."""

CLIENTS = "docs/clients/versions.rst"


def sections() -> Iterator[Section]:
    """Yield every section of every page.

    Raises:
        ValueError: no page shows a results file.
    """
    shown = {name for _, _, name, _ in SECTIONS}
    yield from SECTIONS
    for path in sorted((CHECKOUT / "docs").rglob("*.rst")):
        for name in TABLES.findall(path.read_text("utf-8")):
            render = _tables if name == "native" else _compact_tables
            yield str(path.relative_to(CHECKOUT)), f"{name}-table", name, render
            shown.add(name)
    if hidden := {path.stem for path in RESULTS.glob("*.json")} - shown:
        raise ValueError(f"no page has the markers of {', '.join(sorted(hidden))}")


def wanted() -> dict[Path, str]:
    """Return every file with a generated part, with its up-to-date text.

    Raises:
        lazyentity.bench.harness.results.ResultsError: a results file cannot be read.
        lazyentity.bench.report.readme.MarkersMissing, ValueError: a document lacks its markers, or
            results what it shows; no page shows a results file.
    """
    every = list(sections())
    measured = {name: page_results.load(RESULTS / f"{name}.json") for _, _, name, _ in every}
    # A chart of calls has no separate results.
    charts = [path for path in RESULTS.glob("*.svg") if path.stem in measured]
    files = {path: chart.svg(measured[path.stem]) for path in charts}
    files[RESULTS / "native-calls.svg"] = chart.calls_svg(measured["native"])
    texts = [
        (document, section, render(measured[name])) for document, section, name, render in every
    ]
    texts += [
        (LOSSES, "losses", losses.render(measured)),
        (LOSSES, "more-losses", losses.rest(measured)),
    ]
    for document, section, text in texts:
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
        package = "." if client.name == clients.REQUIRED else f"'.[{client.name}]'"
        names = f'``patch("{client.name}")``', f"``pip install {package}``"
        rows.append((client.distribution, client.range, *names))
    return tabulate(
        rows, ("Client", "Versions", "Patched by", "Installed by"), "rst", disable_numparse=True
    )


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
