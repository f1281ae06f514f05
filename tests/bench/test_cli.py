from __future__ import annotations

import dataclasses
import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lazyentity
from lazyentity.bench import cli, run
from lazyentity.bench.harness import lines, results, sides, verify
from lazyentity.bench.harness.lines import Columns, ColumnsMemory, Packed
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.report import goals
from lazyentity.bench.subjects import columnar, packed
from tests.support import subprocesses
from tests.support.benchmarks import ONCE, bench

from .made import make_line, make_results

_WITHOUT_FURTHER_EXTRAS = """
import sys
for name in ("fastapi", "orjson", "pandas", "pydantic", "tabulate", "zstandard"):
    sys.modules[name] = None
import lazyentity.bench.cli, lazyentity.bench.own_entities
"""


def test_the_extra_bench_is_enough() -> None:
    """The commands can be imported without the requirements of the extra bench-all."""
    done = subprocesses.run("-c", _WITHOUT_FURTHER_EXTRAS)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def measure_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any measurement fails the test."""
    monkeypatch.setattr(run, "run", lambda *_: pytest.fail("measuring started"))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[[results.Results], None]:
    """Makes the measurements give the results at hand."""

    def set_results(made: results.Results) -> None:
        monkeypatch.setattr(run, "run", lambda *_: iter(()))
        monkeypatch.setattr(results.Results, "of", lambda *_: made)

    return set_results


@pytest.mark.usefixtures("measure_nothing")
@pytest.mark.parametrize("option", ["--output", "--plot"])
def test_unwritable_files_are_found_before_measuring(option: str, tmp_path: Path) -> None:
    """A file that cannot be written is a clear error and exit code 2 before the measuring."""
    missing = tmp_path / "missing" / "file"
    outcome = bench("--output", tmp_path / "results.json", option, missing)
    assert outcome.exit_code == 2
    assert outcome.output.startswith("Error: cannot write ")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("measure_nothing")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--project", "p"),
        ("--kind", "K", "--plot", "chart.svg"),
        ("--kind", "K", "--check"),
        ("--kind", "K", "--mixes", "mixed"),
        ("--properties", "0"),
        ("--mixes", "other"),
        ("--kind", "K", "--limit", "0"),
        ("--kind", "K", "--read", " , "),
        ("--kind", "K", "--read", "a,,b"),
        ("--kind", ""),
        ("--kind", "K", "--project", " "),
        ("--kind", "K", "--rate", "0"),
        ("--kind", "K", "--rate", "nan"),
        ("--kind", "K", "--rate", "inf"),
        ("--read", "a"),
        ("--rate", "5"),
        ("--ndb", "--appengine"),
        ("--call", "ndb fetch"),
        ("--appengine", "--call", "ndb fetch"),
        *(
            ("--packed", *others)
            for others in (
                *(("--columns",), ("--kind", "K")),
                *(("--mixes", "mixed"), ("--properties", "5")),
            )
        ),
    ],
)
def test_options_that_do_not_go_together(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Arguments that make no sense are refused at once, with the usage."""
    outcome = bench(*arguments, "--output", tmp_path / "results.json")
    assert outcome.exit_code == 2
    assert "Usage:" in outcome.output
    assert ("do not go with --packed" in outcome.output) == ("--packed" in arguments)


def test_results_are_written_shown_and_drawn(
    measured: Callable[[results.Results], None], tmp_path: Path
) -> None:
    """A run ends in a JSON file, a chart if wanted, and tables that open with the bias."""
    made = make_results()
    measured(made)
    output, chart = tmp_path / "results.json", tmp_path / "chart.svg"
    outcome = bench("--quick", "--output", output, "--plot", chart)
    assert outcome.exit_code == 0, outcome.output
    assert results.load(output) == made
    assert chart.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert "One machine, synthetic entities" in outcome.output
    for title in (
        "strings:",
        "mixed:",
        "nested:",
        "bytes in, 1 read, some changed, bytes out",
        "fresh entities in",
        "memory held",
        "end to end",
        "one response that grows",
        "import lazyentity",
    ):
        assert title in outcome.output


@pytest.mark.parametrize(("ratio", "options"), [(50, ["--check"]), (1, [])])
def test_check_passes_when_goals_are_met(
    ratio: int, options: list[str], measured: Callable[[results.Results], None], tmp_path: Path
) -> None:
    """A fast run passes the check; goals are judged only when asked for."""
    measured(make_results(ratio=ratio))
    assert bench(*options, "--output", tmp_path / "results.json").exit_code == 0


def test_check_names_what_is_missed(
    measured: Callable[[results.Results], None], tmp_path: Path
) -> None:
    """A slow run fails the check, naming each missed goal; its results are recorded."""
    made = make_results(ratio=5)
    measured(dataclasses.replace(made, import_ms=None))
    output = tmp_path / "results.json"
    outcome = bench("--check", "--output", output)
    assert outcome.exit_code == 1
    *_, summary = outcome.output.partition("Error: ")
    assert summary.startswith("4 goals missed:")
    assert "500 properties, 4 read: stock time / lazy time: 5.00, must be at least 12" in summary
    assert "import lazyentity.auto, ms: not measured" in summary
    assert output.exists()


def test_outputs_that_differ_record_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """When lazy and stock differ, there are no results, and the error says where they differ."""

    def mismatch(*_: object) -> list[run.Part]:
        raise verify.OutputMismatch("entities[0]['a']: 1 in place of 2")

    monkeypatch.setattr(run, "run", mismatch)
    output = tmp_path / "results.json"
    outcome = bench("--output", output)
    assert outcome.exit_code == 1
    assert "entities[0]['a']: 1 in place of 2" in outcome.output
    assert not output.exists()


def test_a_choice_of_mixes_and_counts() -> None:
    """Chosen mixes and counts are measured and no others, the floor with the document alone."""
    plan = dataclasses.replace(run.QUICK, conversion=ONCE)
    steps = run.steps(plan, ["mixed"], (2, 3))
    decoded = [measure() for section, measure in steps if section == "decode"]
    chosen = {(line.mix, line.properties) for line in decoded if isinstance(line, lines.Conversion)}
    assert chosen == {("mixed", 2), ("mixed", 3)}
    for mix, times in (("nested", 1), ("mixed", 0)):
        sections = [section for section, _ in run.steps(run.QUICK, [mix], (5,))]
        assert sections.count("the document's floor") == times


class TestOneCall:
    """``--call`` measures a call or a library, and leaves the other lines of the file."""

    @pytest.fixture
    def output(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        def step(name: str) -> run.Step:
            return "end to end", functools.partial(_line, name, 3, 0.5)

        def steps(_plan: run.Plan) -> list[run.Step]:
            # The others fail: they are not to be run.
            others: list[run.Step] = [
                ("models", lambda: pytest.fail("it was measured")),
                ("end to end", functools.partial(pytest.fail, "it was measured")),
            ]
            return [*others, step("ndb fetch"), step("ndb get_multi")]

        monkeypatch.setitem(cli._SUBJECTS, "--ndb", ("ndb", steps, ()))
        monkeypatch.setattr(sides, "require_unpatched", lambda: None)
        output = tmp_path / "results.json"
        before = results.Results.of([_line("ndb fetch", 3, 9), _line("other", 3, 9)], "full", None)
        results.write(output, results.dump(before))
        return output

    def test_replaces_the_lines_of_the_call(self, output: Path) -> None:
        before = results.load(output)
        outcome = bench("--ndb", "--call", "ndb fetch", "--output", output)
        assert outcome.exit_code == 0, outcome.output
        after = results.load(output)
        assert {line.call: line.ratio.median for line in after.end_to_end} == {
            "ndb fetch": 0.5,
            "other": 9,
        }
        assert dataclasses.replace(after, end_to_end=before.end_to_end) == before

    def test_a_call_that_there_is_not(self, output: Path) -> None:
        before = output.read_bytes()
        outcome = bench("--ndb", "--call", "ndb", "--output", output)
        assert outcome.exit_code == 2
        assert "there is no call 'ndb' to measure" in outcome.output
        assert output.read_bytes() == before

    def test_replaces_the_lines_of_a_library(
        self, output: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def measure(library: str, use: str, ratio: float = 0.5) -> lines.AdapterCost:
            return lines.AdapterCost(library, use, *[Summary(ratio, ratio, ratio, 1)] * 5)

        def steps(_plan: run.Plan) -> list[run.Step]:
            found = [("orjson", "dumps"), ("ujson", "dumps"), ("orjson", "others")]
            return [("adapters", functools.partial(measure, *each)) for each in found]

        monkeypatch.setitem(cli._SUBJECTS, "--adapters", ("adapters", steps, ()))
        before = [measure("orjson", "dumps", 9), measure("ujson", "dumps", 9)]
        results.write(output, results.dump(results.Results.of(before, "full", None)))
        outcome = bench("--adapters", "--call", "orjson", "--output", output)
        assert outcome.exit_code == 0, outcome.output
        assert results.load(output).adapter_costs == [
            measure("orjson", "dumps"),
            before[1],
            measure("orjson", "others"),
        ]

    @pytest.mark.parametrize("difference", ["mode", "environment"])
    def test_results_from_elsewhere_are_not_completed(self, output: Path, difference: str) -> None:
        before = results.load(output)
        if difference == "mode":
            before = dataclasses.replace(before, mode="quick")
        else:
            other = dataclasses.replace(before.environment, cpu="another")
            before = dataclasses.replace(before, environment=other)
        results.write(output, results.dump(before))
        outcome = bench("--ndb", "--call", "ndb fetch", "--output", output)
        assert outcome.exit_code == 2
        assert "of another mode or environment; measure all" in outcome.output
        assert results.load(output) == before


def _line(call: str, entities: int, ratio: float) -> lines.EndToEnd:
    summary = Summary(ratio, ratio, ratio, 1)
    return lines.EndToEnd(
        call=call,
        entities=entities,
        properties=5,
        read="1",
        stock=summary,
        lazy=summary,
        ratio=summary,
    )


def _parts() -> list[Any]:
    compared = dict.fromkeys(("stock", "lazy", "ratio", "over_lazy"), 100)
    ways = dict.fromkeys(("columns", "lists", "entities_alone"), 100)
    sizes = {"values": 1, "embedded_bytes": 2, "packed_bytes": 3}
    return [
        *(
            make_line(Packed, use=use, size=size, packed=100, **sizes, **compared)
            for use in packed.USES
            for size in packed.SIZES
        ),
        *(
            make_line(
                Columns, source=source, entities=200, properties=60, names=6, **ways, **compared
            )
            for source in columnar.SOURCES
        ),
        make_line(ColumnsMemory, entities=1_000_000, batch=10, few=100, all=100, ratio=1),
    ]


@pytest.mark.parametrize(
    ("option", "steps", "declared"),
    [
        ("--packed", run.packed_steps(run.QUICK), goals.PACKED_GOALS),
        ("--columns", run.columns_steps(run.QUICK), goals.COLUMNS_GOALS),
    ],
)
def test_subjects_of_their_own(
    option: str,
    steps: list[run.Step],
    declared: tuple[goals.Goal, ...],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Each option runs its own steps, shows their tables and checks its goals."""
    planned: list[str] = []

    def made(chosen: list[run.Step], _: Any) -> Any:
        planned.extend(section for section, _ in chosen)
        return iter(_parts())

    monkeypatch.setattr(run, "run", made)
    outcome = bench("--quick", option, "--check", "--output", tmp_path / "results.json")
    assert outcome.exit_code == 0, outcome.output
    assert planned == [section for section, _ in steps]
    for title in ("embedded entities and packed", "a DataFrame of 6 of 60", "column_batches()"):
        assert title in outcome.output
    # The headers of the last columns of two tables, which are wider than a terminal.
    assert outcome.output.count("lazy / ") == 2
    assert outcome.output.count("met  ") == sum(
        goal.backend == lazyentity.backend for goal in declared
    )


def test_demo() -> None:
    """The demonstration shows both codes, how much each decoded, and equal totals."""
    child = subprocess.run(
        [sys.executable, "-m", "lazyentity", "demo"],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert child.stdout.count("query.fetch()") == 2
    assert child.stdout.count("import lazyentity.auto") == 1
    decoded = next(line for line in child.stdout.splitlines() if "properties decoded" in line)
    assert " ".join(decoded.split()) == "properties decoded 30,000 of 30,000 300 of 30,000"
    assert "equal" in child.stdout
