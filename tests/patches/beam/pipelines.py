"""A pipeline that reads, filters, groups, counts and writes back, and the entities for it.

Its functions are imported by the workers.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.io.gcp.datastore.v1new import datastoreio, types
from google.cloud import datastore

from tests.support.clients import PROJECT
from tests.support.entities import fill

BY_POSITION = "ignore:Detected filter using positional arguments:UserWarning"
"""A filter for the warning of the client about the queries of the connector."""

KIND = "Read"
COUNT = 60


def stored(client: datastore.Client) -> list[datastore.Entity]:
    """Entities to store, with a property of every type and with meanings.

    Beam converts no embedded entity without a key.
    """
    made = []
    for number in range(COUNT):
        entity = fill(datastore.Entity(client.key("Parent", "p", KIND, number + 1)), number)
        entity["inner"] = datastore.Entity(client.key("Inner", 1))
        entity["inner"]["number"] = number
        made.append(entity)
    return made


def query() -> Any:
    """The query for all of them."""
    return types.Query(KIND, PROJECT)


def _is_chosen(element: Any) -> bool:
    return bool(element.properties["number"] % 3)


def _by_parity(element: Any) -> tuple[str, Any]:
    return element.properties["parity"], element


def _summed(group: tuple[str, Iterable[Any]], folder: str) -> list[Any]:
    """Write the results of a group to a file, and return its elements."""
    parity, passed = group[0], list(group[1])
    numbers = [element.properties["number"] for element in passed]
    result = [parity, len(numbers), sum(numbers)]
    Path(folder, f"{parity}.json").write_text(json.dumps(result))
    return passed


def _marked(element: Any) -> Any:
    if element.properties["number"] % 2:
        element.properties["marked"] = True
    return element


class _Once(beam.DoFn):  # type: ignore[misc]  # announces no types
    """Kills the process of the worker that first sees one of the elements.

    Args:
        mark: a file that says that it was done; none, to kill nothing.
    """

    def __init__(self, mark: str | None) -> None:
        self._mark = mark

    def process(self, element: Any) -> Iterable[Any]:
        if self._mark and element.properties["number"] == COUNT // 2 + 1:
            try:
                Path(self._mark).touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        yield element


def run(
    read: Any, folder: Path, options: list[str], *, runner: Any = None, kill: bool = False
) -> Any:
    """Run the pipeline, and return its results.

    Args:
        read: the transform that reads.
        folder: for files that the workers can see.
        options: of the pipeline.
        runner: the runner; None for that of the options.
        kill: whether a process of a worker is killed in the middle.
    """
    mark = str(folder / "killed") if kill else None
    for old in folder.glob("*.json"):
        old.unlink()
    with beam.Pipeline(runner=runner, argv=options) as pipeline:
        # One chain: of several, the runner for Dask runs the last.
        (
            pipeline
            | read
            | beam.Filter(_is_chosen)
            | beam.ParDo(_Once(mark))
            | beam.Map(_by_parity)
            | beam.GroupByKey()
            | beam.FlatMap(_summed, str(folder))
            | beam.Reshuffle()
            | "Mark" >> beam.Map(_marked)
            | datastoreio.WriteToDatastore(PROJECT, throttle_rampup=False)
        )
    if kill:
        assert (folder / "killed").exists()
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
