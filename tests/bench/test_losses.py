from __future__ import annotations

import dataclasses

import pytest
from docutils.core import publish_doctree
from docutils.nodes import entry, row, table

from lazyentity.bench.harness.results import Results
from lazyentity.bench.measure import losses, page_results, page_tables
from lazyentity.bench.report import headline
from lazyentity.bench.report.tables import tables
from tools import tables as generated

from .made import make_results

pytestmark = pytest.mark.any_backend

OTHER_RATIOS = {
    "growth": "of one size over another",
    "all / a hundredth": "of one size over another",
    "to_dict / decode": "both are lazyentity's",
    "stock / it": "its lazy line is that of the document, which is compared",
    "none alive": "of adapters and none, with goals of their own",
    "1 alive": "the same",
    "10,000 alive": "the same",
    "it / JSON": "a bound, not another way to read an entity",
    "way / raw document": "both are pymongo's",
    "way / lazyentity": "of rows of another service",
    "lazy / other": "a bound, gRPC's stub or a parser of JSON",
    "lazy / other, CPU": "the same",
    "stock / gRPC": "a bound, not another way to read a document",
}
"""The ratios of tables that compare lazyentity with no alternative, and why."""


def alone(made: Results) -> dict[str, Results]:
    """The results files of the page, all of them empty but one."""
    return {**dict.fromkeys(losses.TITLES, Results.of([])), "native": made}


def test_every_comparison_is_considered() -> None:
    """Each line of a table that has a ratio to stock gives one comparison."""
    made = make_results()
    expected = sum(
        figure.of(line) is not None
        for each in tables(made)
        for figure in each.figures
        if figure.header in losses.COMPARISONS
        for line in each.lines
    )
    assert len(list(losses.gains(made))) == expected


def test_every_ratio_of_the_pages_is_a_comparison() -> None:
    """So is every ratio of the committed results, but for those that compare something else."""
    paths = sorted(generated.RESULTS.glob("*.json"))
    ratios = {
        figure.header
        for path in paths
        for each in page_tables.tables(page_results.load(path))
        for figure in each.figures
        if not figure.unit
    }
    assert ratios - losses.COMPARISONS.keys() == OTHER_RATIOS.keys()
    assert ratios >= losses.COMPARISONS.keys()
    assert losses.TITLES.keys() == {path.stem for path in paths}


@pytest.mark.parametrize(
    ("name", "case", "most"),
    [
        ("appengine-pure", "db.get, 100 properties, all read", 0.95),
        ("packed-native", "10 KB, read, lazy / packed", 0.75),
        ("snapshot", "json lines, first / snapshot", 0.2),
    ],
)
def test_losses_beside_the_core(name: str, case: str, most: float) -> None:
    """Rooms and clients with separate pages have losses as well, and each says against what."""
    listed = losses.gains(page_results.load(generated.RESULTS / f"{name}.json"))
    (found,) = (each for each in listed if each.case == case)
    assert found.gain.median < most


def test_losses_come_first() -> None:
    """The tables have the comparisons below the limit, the smallest gain first, and names each.

    The first one is short, and says how many are in the other.
    """
    made = make_results(ratio=0.5)
    first, rest = losses.render(alone(made)), losses.rest(alone(made))
    rows: list[list[str]] = []
    for section in (first, rest):
        tree = publish_doctree(section, settings_overrides={"report_level": 1, "halt_level": 1})
        listed = [[cell.astext() for cell in line.findall(entry)] for line in tree.findall(row)][1:]
        if not rows:
            assert len(listed) == losses.FIRST == 10
        rows += listed
    figures = [float(cells[-1].partition("x")[0]) for cells in rows]
    assert figures == sorted(figures)
    assert max(figures) < losses.LIMIT
    assert len({(benchmark, case) for benchmark, case, _ in rows}) == len(rows)
    below = [each for each in losses.gains(made) if each.gain.median < losses.LIMIT]
    assert len(rows) == len(below)
    assert f"{len(rows) - losses.FIRST} more are at the end" in first
    assert any(case == "100 properties, all read by name" for _, case, _ in rows)


def test_no_losses() -> None:
    """Files without a comparison below the limit are in a sentence instead of a table."""
    few = dataclasses.replace(make_results(ratio=9), adapted=[], memory=[], new_names=[])
    assert losses.rest(alone(few)) == "There are no others."
    assert "more are" not in losses.render(alone(few))
    tree = publish_doctree(losses.render(alone(dataclasses.replace(few, access=None))))
    assert not list(tree.findall(table))
    assert f"below 1.5 in: {'; '.join(losses.TITLES.values())}." in " ".join(tree.astext().split())


def test_costs_are_inverted() -> None:
    """Of a ratio of lazy over another side, the gain is the inverse, its quartiles in order."""
    (access,) = (each for each in losses.gains(make_results()) if each.case == 'entity["name"]')
    assert access.gain.median == pytest.approx(1 / 1.5)
    assert access.gain.q1 < access.gain.median < access.gain.q3


def test_headline() -> None:
    """The sentence has the medians of the query; a run without one has no sentence."""
    made = make_results()
    (query,) = (line for line in made.end_to_end if line.call == "query")
    expected = f"{query.lazy.median:.1f} ms instead of {query.stock.median:.1f} ms with the"
    assert expected in " ".join(headline.render(made).split())
    with pytest.raises(headline.NothingMeasured):
        headline.render(dataclasses.replace(made, end_to_end=[]))
