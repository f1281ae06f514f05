"""The README is right: its examples run, and its figures come from the results file.

Its headline, like the tables and charts of the documentation, is checked by tests/docs.
"""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docutils.core
import docutils.nodes
import pytest

import lazyentity
from lazyentity.bench import chart, results, tables
from lazyentity.bench.server.process import LoopbackServer

ROOT = Path(__file__).parent.parent
README = ROOT / "README.rst"
RESULTS = ROOT / "bench" / "results"


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    """A server where the README's clients look for one, and no patch left behind."""
    with LoopbackServer() as server:
        monkeypatch.setenv("DATASTORE_EMULATOR_HOST", f"127.0.0.1:{server.grpc_port}")
        yield server
        lazyentity.unpatch()


def test_examples(emulated: LoopbackServer) -> None:
    """Every example of a Python session gives the output that the README shows."""
    outcome = doctest.testfile(
        str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert outcome.attempted > 10
    assert outcome.failed == 0


def test_first_example(emulated: LoopbackServer) -> None:
    """The example on the first screen runs as it stands, and its reads are lazy."""
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", README.read_text("utf-8"))
    code = "\n".join(line[3:] for line in blocks[0].splitlines())
    ast.parse(code)
    order = (
        "from google.cloud import datastore\n"
        "client = datastore.Client(project='demo')\n"
        "order = datastore.Entity(client.key('Order', 1))\n"
        "order['amount'] = 12.5\n"
        "client.put(order)\n"
    )
    check = "\nassert total == 12.5, total\nassert 'datastore' in lazyentity.patched()\n"
    code = order + code.replace("datastore.Client()", "datastore.Client(project='demo')") + check
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_chart() -> None:
    """The first screen shows the chart of the committed results, with a text in place of it."""
    measured = results.load(RESULTS / "datastore.json")
    assert (RESULTS / "datastore.svg").read_text("utf-8") == chart.svg(measured)
    document = docutils.core.publish_doctree(
        README.read_text("utf-8").split("\nInstalling\n")[0], settings_overrides={"report_level": 5}
    )
    (image,) = document.findall(docutils.nodes.image)
    assert image["uri"] == "bench/results/datastore.svg"
    assert (ROOT / image["uri"]).exists()
    assert image["alt"]


def test_headline() -> None:
    """The figure on the first screen is the one in the committed results."""
    measured = results.load(RESULTS / "datastore.json")
    query = tables.find(measured, "query", 300, 100)
    assert query is not None
    sentence = (
        f"A query of {query.entities} entities of {query.properties} properties, one of them read, "
        f"takes {query.lazy.median:.1f} ms instead of {query.stock.median:.1f} ms"
    )
    assert sentence in " ".join(README.read_text("utf-8").split())


def test_links() -> None:
    """The pages of the documentation that the README links to are there, and no badge.

    The project has no host, so a badge would show nothing; links lead to files.
    """
    document = docutils.core.publish_doctree(README.read_text("utf-8"))
    links = [link["refuri"] for link in document.findall(docutils.nodes.reference)]
    assert len(links) > 20
    for link in links:
        assert (ROOT / link).exists(), link
    assert len(list(document.findall(docutils.nodes.image))) == 1
    assert "://" not in README.read_text("utf-8").replace("http://127.0.0.1", "")
