"""Counts the entities of a kind by the value of a property, with Apache Beam.

On this machine, with a server and entities for the demo (``pip install '.[beam,bench]'``):

    python docs/examples/beam_count.py --demo

On Dataflow, by flags alone; ``requirements.txt`` has the line ``lazyentity[beam] @ git+ADDRESS``:

    python docs/examples/beam_count.py --project my-project --kind Order --property status \
        --output gs://my-bucket/counts --runner DataflowRunner --region europe-west1 \
        --temp_location gs://my-bucket/temp --requirements_file requirements.txt
"""

from __future__ import annotations

import argparse
import contextlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.io.gcp.datastore.v1new.types import Query
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from lazyentity.beam import ReadFromDatastore

_DEMO = ["--project=demo", "--kind=Order", "--property=status", "--splits=4"]
_DEMO_ENTITIES = 1_000


@contextlib.contextmanager
def demo_server() -> Iterator[None]:
    """Run a Datastore server with some orders, which the workers on this machine find."""
    from google.cloud import datastore

    from lazyentity.bench.server.process import LoopbackServer

    with LoopbackServer() as server:
        os.environ["DATASTORE_EMULATOR_HOST"] = f"127.0.0.1:{server.grpc_port}"
        client = datastore.Client(project="demo")
        orders = []
        for number in range(_DEMO_ENTITIES):
            order = datastore.Entity(client.key("Order", number + 1))
            order.update({f"field_{position}": number + position for position in range(50)})
            order["status"] = ("open", "paid", "sent", "sent")[number % 4]
            orders.append(order)
        for start in range(0, len(orders), 500):
            client.put_multi(orders[start : start + 500])
        yield


def count(read: Any, name: str) -> Any:
    """Return a collection of lines, ``value: number of entities``.

    Args:
        read: a collection of entities.
        name: the property that is counted by. Of each entity it alone is decoded.
    """
    return (
        read
        | "Value" >> beam.Map(lambda entity: (str(entity.properties.get(name)), 1))
        | "Count" >> beam.CombinePerKey(sum)
        | "Line" >> beam.MapTuple(lambda value, number: f"{value}: {number}")
    )


def main() -> None:
    """Run the pipeline that the command line describes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--demo", action="store_true", help="with a server and entities of its own")
    parser.add_argument("--kind", help="of the entities")
    parser.add_argument("--property", help="the property that is counted by")
    parser.add_argument("--splits", type=int, default=0, help="of the query; 0 leaves it to Beam")
    parser.add_argument("--output", help="prefix of the files to write; without it, prints")
    # Beam's connector names no arguments of the client's filters.
    warnings.filterwarnings("ignore", "Detected filter using positional arguments", UserWarning)
    given, flags = parser.parse_known_args()
    if given.demo:
        given, flags = parser.parse_known_args(_DEMO, given)[0], [*_DEMO[:1], *flags]
    options = PipelineOptions(flags)
    project = options.view_as(GoogleCloudOptions).project
    if not (project and given.kind and given.property):
        parser.error("name --project, --kind and --property, or give --demo")
    server = demo_server() if given.demo else contextlib.nullcontext()
    with server, beam.Pipeline(options=options) as pipeline:
        read = pipeline | ReadFromDatastore(Query(given.kind, project), given.splits)
        lines = count(read, given.property)
        if given.output:
            _ = lines | "Write" >> beam.io.WriteToText(given.output)
        else:
            _ = lines | "Print" >> beam.Map(print)


if __name__ == "__main__":
    main()
