"""Reports of pipelines on themselves, with Beam's transform and with lazy ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.io.gcp.datastore.v1new import datastoreio, helper, types
from apache_beam.metrics import Metrics
from apache_beam.metrics.execution import MetricsEnvironment
from apache_beam.portability.api import beam_runner_api_pb2
from google.api_core.exceptions import GoogleAPICallError

import lazyentity
from lazyentity.beam import ReadFromDatastore
from lazyentity.patches.beam.reads import QueryFn
from tests.patches.beam import pipelines
from tests.support.clients import PROJECT

pytestmark = [
    pytest.mark.any_backend,
    pytest.mark.usefixtures("stored"),
    pytest.mark.filterwarnings(pipelines.BY_POSITION),
]

_LabelledPayload = beam_runner_api_pb2.LabelledPayload
_STOCK: Any = datastoreio.ReadFromDatastore
_DIFFERS = ("msecs", "sampled_byte_size", "latencies")
"""Parts of the names of the metrics with times and with the encoded sizes."""


class _Counting(beam.DoFn):  # type: ignore[misc]  # announces no types
    def process(self, element: Any) -> Iterator[Any]:
        Metrics.counter("numbers", "even").inc(element.properties["number"] % 2 == 0)
        Metrics.distribution("numbers", "all").update(element.properties["number"])
        yield element.properties["parity"], element


def _pipeline(read: Any) -> Any:
    # By its whole name: Beam 2.60 knows no other.
    runner = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
    made = beam.Pipeline(runner=runner, argv=[])
    _ = (
        made
        | read(pipelines.query(), num_splits=3)
        | "Count" >> beam.ParDo(_Counting())
        | beam.GroupByKey()
        | "Elements" >> beam.FlatMap(lambda group: group[1])
        | datastoreio.WriteToDatastore(PROJECT, throttle_rampup=False)
    )
    return made


def _metrics(read: Any) -> list[Any]:
    """Run the pipeline; return all of its metrics, and those of the process."""
    helper.get_client.cache_clear()
    MetricsEnvironment.process_wide_container().reset()
    result = _pipeline(read).run()
    result.wait_until_finish()
    infos = [
        (
            info.urn,
            sorted(info.labels.items()),
            info.type,
            None if any(part in info.urn for part in _DIFFERS) else info.payload,
        )
        for info in result.monitoring_infos()
    ]
    user = {
        kind: [(str(each.key), each.attempted, each.committed) for each in results]
        for kind, results in result.metrics().query().items()
    }
    return [sorted(infos, key=str), user, _process_metrics()]


def _process_metrics() -> list[Any]:
    """Return the metrics of the calls of services."""
    infos = MetricsEnvironment.process_wide_container().to_runner_api_monitoring_infos(None)
    return sorted(
        (
            info.urn,
            sorted(info.labels.items()),
            None if any(part in info.urn for part in _DIFFERS) else info.payload,
        )
        for info in infos.values()
    )


def _displayed(read: Any) -> list[Any]:
    """Return the names and the display data of all parts of the pipeline."""
    displayed = []
    for part in _pipeline(read).to_runner_api().components.transforms.values():
        data = [_LabelledPayload.FromString(each.payload) for each in part.display_data]
        for each in data:
            # The lazy transform has a name of its own.
            if each.namespace == f"{read.__module__}.ReadFromDatastore":
                each.namespace = "read"
        displayed.append((part.unique_name, part.spec.urn, list(map(str, data))))
    return displayed


def test_metrics() -> None:
    stock = _metrics(_STOCK)
    assert len(stock[0]) > 50
    assert any("_msecs" in info[0] for info in stock[0])
    counted = {key: value for key, value, _ in stock[1]["counters"] if "even" in key}
    assert [*counted.values()] == [pipelines.COUNT // 2]
    assert any("BatchDatastoreRead" in str(info) for info in stock[2])
    assert _metrics(ReadFromDatastore) == stock
    lazyentity.unpatch()
    lazyentity.patch("beam", strict=True)
    assert _metrics(_STOCK) == stock


def test_metrics_of_an_error() -> None:
    invalid = types.Query(pipelines.KIND, PROJECT, limit=-1)
    reported = []
    for fn in (_STOCK._QueryFn(), QueryFn()):
        MetricsEnvironment.process_wide_container().reset()
        with pytest.raises(GoogleAPICallError) as caught:
            list(fn.process(invalid))
        reported.append((type(caught.value), _process_metrics()))
        lazyentity.patch("beam", "datastore", strict=True)
    assert "BatchDatastoreRead" in str(reported[0])
    assert reported[0] == reported[1]


def test_display_data() -> None:
    stock = _displayed(_STOCK)
    assert "num_splits" in str(stock)
    assert "_QueryFn" in str(stock)
    assert ReadFromDatastore.__module__ == "lazyentity.beam"
    assert _displayed(ReadFromDatastore) == stock
    lazyentity.patch("beam", strict=True)
    assert _displayed(_STOCK) == stock
