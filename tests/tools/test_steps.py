from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tools.steps import Runner, Step

pytestmark = pytest.mark.any_backend


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_step_waits_for_those_it_needs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also when it comes first; the output of each step is printed whole."""
    made = tmp_path / "made"
    runner = Runner(2)
    runner.run(
        [
            Step("second", python(f"print(open({str(made)!r}).read())"), needs=("first",)),
            Step("first", python(f"open({str(made)!r}, 'w').write('from first')")),
            Step("third", python("print('third')"), cores=9),
            Step("beside", python("import os; print(os.nice(0))"), cores=0),
        ]
    )
    printed = capfd.readouterr().out
    assert re.search(r"=== second: passed in \d+ s\nfrom first\n", printed)
    table = runner.summary().splitlines()
    assert {line.split()[-1] for line in table} == {
        *("step", "first", "second", "third", "beside", "all")
    }


def test_a_failure_stops_everything(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Running steps are stopped, children included; no other begins; the failure is named."""
    late = tmp_path / "late"
    patient = f"sleep 60; touch {late}"
    runner = Runner(2)
    with pytest.raises(SystemExit, match="wrong: FAILED with status 3"):
        runner.run(
            [
                Step("patient", ["sh", "-c", patient]),
                Step("wrong", python("print('the reason'); raise SystemExit(3)")),
                Step("never", python(f"open({str(late)!r}, 'w')")),
            ]
        )
    printed = capfd.readouterr().out
    assert "=== wrong: FAILED with status 3" in printed
    assert "the reason" in printed
    assert "began: never" not in printed
    assert not late.exists()


def test_a_need_that_is_no_step() -> None:
    """A misspelt need does not pass unnoticed."""
    with pytest.raises(SystemExit, match="these steps need missing steps: lonely"):
        Runner(1).run([Step("lonely", python(""), needs=("nosuch",))])


def test_a_step_that_wants_every_core_runs_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """It waits until the others have ended. Those after it do not wait for it."""
    Runner(2).run(
        [Step("before", python("")), Step("alone", python(""), cores=9), Step("after", python(""))]
    )
    lines = [line for line in capfd.readouterr().out.splitlines() if line[:3] in {"---", "==="}]
    assert lines[-2].endswith("began: alone")
    assert lines[-1].startswith("=== alone: passed")


def test_few_steps_run_beside_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    """They do not wait for the cores, which another step has, but for each other."""
    beside = [Step(name, python("input()"), cores=0) for name in ("first", "second")]
    with pytest.raises(SystemExit, match="first: FAILED"):
        Runner(1, beside=1).run([Step("alone", ["sleep", "60"]), *beside])
    printed = capfd.readouterr().out
    assert "began: first" in printed
    assert "began: second" not in printed
