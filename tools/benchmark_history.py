"""Add a run of the microbenchmark to a history of runs; fail if a figure became worse than noise.

    python tools/benchmark_history.py HISTORY lazyentity-bench.json

The figures are the ratios of the stock client's time to lazyentity's, taken from interleaved
rounds: another machine changes both times. A figure regressed if the middle half of its rounds lies
below the middle half of each of the last runs with the same backend, minor version of Python, and
processor.

A run that regressed is kept apart, so that the next run is not compared with it. ``--accept`` adds
the run to the history, for a change that was worth its cost.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lazyentity.bench.harness import results
from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary

# Fewer earlier runs do not show the noise.
FEWEST = 3
MOST = 10

# The sections whose ratios are stock time over lazy time, and the fields that tell lines apart.
SECTIONS = {
    "conversion": ("mix", "properties", "read"),
    "read_modify_write": ("mix", "properties", "changed"),
    "puts": ("mix", "properties"),
    "end_to_end": ("call", "entities", "properties", "done"),
}


def figures(run: Results) -> dict[str, Summary]:
    """Return the ratios of a run by the names of their cases."""
    return {
        " ".join([section, *(f"{name}={getattr(line, name)}" for name in names)]): line.ratio
        for section, names in SECTIONS.items()
        for line in getattr(run, section)
    }


def _conditions(run: Results) -> tuple[str, str, str, str]:
    environment = run.environment
    python = environment.python.rpartition(".")[0]
    return run.mode, environment.backend, python, environment.cpu


def regressions(run: Results, earlier: Sequence[Results]) -> list[str]:
    """Return a sentence for each figure that is worse than noise explains.

    Args:
        run: the new run.
        earlier: the runs before it, in the order of their dates; runs under other conditions do not
            count.
    """
    comparable = [one for one in earlier if _conditions(one) == _conditions(run)][-MOST:]
    found = []
    for name, ratio in figures(run).items():
        before = [known[name] for known in map(figures, comparable) if name in known]
        if len(before) >= FEWEST and ratio.q3 < (lowest := min(one.q1 for one in before)):
            found.append(
                f"{name}: {ratio.q1:.2f} to {ratio.q3:.2f} times as fast as stock; it was "
                f"{lowest:.2f} at least in the last {len(before)} runs"
            )
    return found


def main() -> None:
    """Compare the run named on the command line with the history, and add it.

    Raises:
        SystemExit: a figure regressed; the message names each.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("history", type=Path, help="a folder, made if it is not there")
    parser.add_argument("run", type=Path, help="a results file of the benchmark")
    parser.add_argument("--accept", action="store_true", help="take the run as it is")
    arguments = parser.parse_args()
    history: Path = arguments.history
    try:
        run = results.load(arguments.run)
        earlier = [results.load(path) for path in sorted(history.glob("*.json"))]
    except results.ResultsError as error:
        raise SystemExit(str(error)) from None
    worse = [] if arguments.accept else regressions(run, earlier)
    folder = history / "regressed" if worse else history
    folder.mkdir(parents=True, exist_ok=True)
    # Colons are not allowed in names of files on Windows.
    target = folder / f"{run.date.replace(':', '')}.json"
    target.write_text(results.dump(run), encoding="utf-8")
    if worse:
        raise SystemExit("\n  ".join([f"{len(worse)} figures regressed:", *worse]))
    print(f"added to the {len(earlier)} runs before: {target}")


if __name__ == "__main__":
    main()
