"""The command of the benchmark, and the budget of measurements whose figures do not matter."""

from __future__ import annotations

from click.testing import CliRunner, Result

from lazyentity.bench import cli
from lazyentity.bench.harness import Budget

ONCE = Budget(seconds=0, min_rounds=1, max_rounds=1, sample_seconds=0)


def bench(*arguments: object) -> Result:
    """Run ``python -m lazyentity bench`` in this process."""
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])
