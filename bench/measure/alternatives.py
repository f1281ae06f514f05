"""Other ways to pay less for the properties that nobody reads, next to a lazy client.

Each has its CPU time, and how many times as long as the lazy one it takes. The ways of
gcloud-aio-datastore, of pymongo and of google-cloud-spanner are measured where these libraries are
installed.
"""

from __future__ import annotations

import base64
import datetime
import functools
import importlib
import json
import pickle
import time
import unittest.mock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
from google.cloud.datastore import helpers

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.stats import paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import MILLISECONDS, Budget, Context, Task, interleave
from lazyentity.bench.measure.command import Benchmark, Run
from lazyentity.bench.measure.page_results import Alternative, Alternatives

ENTITIES, PROPERTIES, READ = 300, 60, "4"
MIX = synthetic.MIXES["mixed"]

STOCK, LAZY = "all properties, stock", "lazyentity"
PROJECTION = "projection query"
CACHE = "keys-only query, pickles in memory"
DELETING = "deleting the others first (2014)"
PROXIES = "proxies of messages (2016)"
CUSTOM_VALUE = "a Value class that converts nothing"
RAW_BSON = "RawBSONDocument"
ROWS, LAZY_ROWS = "all columns, stock", "lazy_decode=True, decode_column()"

DATASTORE, AIO = "google-cloud-datastore", "gcloud-aio-datastore"
BSON, SPANNER = "pymongo", "google-cloud-spanner"
"""The libraries."""


def _raw(entity_pb: Any) -> Any:
    """The message inside of what the client hands to its conversion: proto-plus is slow."""
    return getattr(entity_pb, "_pb", entity_pb)


class MessageProxy:
    """A value of a parsed message is converted when it is read: no dict, and no ``Entity``."""

    def __init__(self, entity_pb: Any) -> None:
        self._properties = _raw(entity_pb).properties

    def __getitem__(self, name: str) -> Any:
        return helpers._get_value_from_value_pb(self._properties[name])


def _converting(conversion: Callable[[Any], Any]) -> Context:
    """The client converts every entity of a response by ``conversion`` while inside."""
    return lambda: unittest.mock.patch.object(helpers, "entity_from_protobuf", conversion)


def _reading(entities: Callable[[], Iterable[Any]], names: Sequence[str]) -> Task:
    return lambda: [[entity[name] for name in names] for entity in entities()]


def _timed(
    library: str, tasks: Mapping[str, Task], contexts: Mapping[str, Context], budget: Budget
) -> list[Alternative]:
    """Time the ways of a library, the last of which the others are compared with."""
    timed = interleave(tasks, budget, contexts, time.process_time)
    first, *others = timed
    for way in others:
        verify.check_same(timed[first].last, timed[way].last, way)
    *_, last = timed
    return [
        Alternative(
            library,
            way,
            summarize(scaled(track.seconds, MILLISECONDS)),
            None if way == last else paired_ratio(track.seconds, timed[last].seconds),
        )
        for way, track in timed.items()
    ]


def of_datastore(entities: int, properties: int, budget: Budget) -> list[Alternative]:
    """Time the ways of google-cloud-datastore, with the loopback server."""
    names = synthetic.names_read(MIX, properties, READ)
    with loopback.serving(MIX.entities(entities, properties), 2) as served:
        client, lazy = served.clients[0], lazyentity.wrap(served.clients[1])
        stock_conversion: Callable[[Any], Any] = helpers.entity_from_protobuf

        def without_others(entity_pb: Any) -> Any:
            properties = _raw(entity_pb).properties
            for name in [name for name in properties if name not in names]:
                del properties[name]
            return stock_conversion(entity_pb)

        def projected() -> Any:
            query = client.query(kind=synthetic.KIND)
            query.projection = names
            # In the order of the other queries: a projection alone has that of its values.
            return sorted(query.fetch(), key=lambda entity: int(entity.key.id))

        def keys_only() -> Any:
            query = client.query(kind=synthetic.KIND)
            query.keys_only()
            return [pickle.loads(pickled[entity.key]) for entity in query.fetch()]  # noqa: S301  # below

        def fetched() -> Any:
            return client.query(kind=synthetic.KIND).fetch()

        pickled = {
            entity.key: pickle.dumps(entity, pickle.HIGHEST_PROTOCOL) for entity in fetched()
        }
        ways = {
            STOCK: fetched,
            PROJECTION: projected,
            CACHE: keys_only,
            DELETING: fetched,
            PROXIES: fetched,
            LAZY: lambda: lazy.query(kind=synthetic.KIND).fetch(),
        }
        tasks = {way: _reading(read, names) for way, read in ways.items()}
        contexts = {DELETING: _converting(without_others), PROXIES: _converting(MessageProxy)}
        return _timed(DATASTORE, tasks, contexts, budget)


def of_aio(entities: int, properties: int, budget: Budget) -> list[Alternative]:
    """Time the conversion of parsed JSON to the entities of gcloud-aio-datastore.

    Raises:
        ImportError: the client is not installed.
    """
    from gcloud.aio.datastore import Entity, Value

    from lazyentity.bench.measure import rest
    from lazyentity.patches.rest.properties import mark_response

    class Untouched(Value):
        """The value is the JSON that came."""

        @classmethod
        def from_repr(cls, data: dict[str, Any]) -> Value:
            return cls(data)

    class Unconverted(Entity):
        value_kind = Untouched

    names = synthetic.names_read(MIX, properties, READ)
    with rest.loaded_server(entities, properties) as port:
        body = rest.received(port)

    def reading(kind: type[Entity], response: Any, value: Callable[[Any], Any]) -> Task:
        received = [result["entity"] for result in response["batch"]["entityResults"]]

        def read() -> list[list[Any]]:
            made = (kind.from_repr(one).properties for one in received)
            return [[value(held[name]) for name in names] for held in made]

        return read

    def same(value: Any) -> Any:
        return value

    data = json.loads(body)
    tasks = {
        STOCK: reading(Entity, data, same),
        CUSTOM_VALUE: reading(Unconverted, data, lambda held: Value.from_repr(held).value),
        LAZY: reading(Entity, mark_response(json.loads(body)), same),
    }
    return _timed(AIO, tasks, {LAZY: rest.CONTEXTS["lazy"]}, budget)


def of_bson(entities: int, properties: int, budget: Budget) -> list[Alternative]:
    """Time the decoding of documents of pymongo, with the properties of the entities.

    Raises:
        ImportError: pymongo is not installed.
    """
    bson = importlib.import_module("bson")
    raw_document = importlib.import_module("bson.raw_bson").RawBSONDocument
    names = synthetic.names_read(MIX, properties, READ)
    encoded = [bson.encode(dict(MIX.entity(properties, number))) for number in range(entities)]

    ways = {STOCK: bson.decode, RAW_BSON: raw_document}
    tasks = {
        way: _reading(functools.partial(map, decode, encoded), names)
        for way, decode in ways.items()
    }
    return _timed(BSON, tasks, {}, budget)


def of_spanner(entities: int, properties: int, budget: Budget) -> list[Alternative]:
    """Time the decoding of Spanner's rows, and that of a response with the entities.

    Raises:
        ImportError: google-cloud-spanner is not installed.
    """
    names = synthetic.names_read(MIX, properties, READ)
    raw = result_set([MIX.entity(properties, number) for number in range(entities)])
    messages = (synthetic.entity_pb(MIX, properties, number) for number in range(entities))
    (response,) = decoding.lookup_responses(messages, entities)

    of_entities = {
        way: _reading(functools.partial(side.entities, response), names)
        for way, side in ((STOCK, sides.STOCK), (LAZY, sides.LAZY))
    }
    of_rows = {
        ROWS: reading_rows(raw, names, is_lazy=False),
        LAZY_ROWS: reading_rows(raw, names, is_lazy=True),
    }
    return [
        replace(line, library=DATASTORE) if line.way in of_entities else line
        for line in _timed(SPANNER, of_rows | of_entities, {}, budget)
    ]


MEASURED = {DATASTORE: of_datastore, AIO: of_aio, BSON: of_bson, SPANNER: of_spanner}
"""The libraries, and the function that times the ways of each."""


def _measured(run: Run) -> Iterator[Alternatives]:
    lines: dict[str, list[Alternative]] = {library: [] for library in MEASURED}
    for library, measure in MEASURED.items():
        try:
            lines[library] = measure(ENTITIES, PROPERTIES, run.budget)
        except ImportError as error:
            click.echo(f"not measured: {library}, {error}")
    entities = [*lines[DATASTORE], *lines[AIO]]
    yield Alternatives(ENTITIES, PROPERTIES, READ, entities, lines[BSON], lines[SPANNER])


BENCHMARK = Benchmark(
    _measured, Budget(seconds=20, min_rounds=9, max_rounds=200, sample_seconds=0.05)
)


Read = Callable[[], list[list[Any]]]
"""Reads some columns of all rows."""


_ENCODINGS: dict[type, tuple[str, str, Callable[[Any], Any]]] = {
    bool: ("BOOL", "bool_value", bool),
    bytes: ("BYTES", "string_value", lambda value: base64.b64encode(value).decode()),
    datetime.datetime: ("TIMESTAMP", "string_value", "{:%Y-%m-%dT%H:%M:%S.%f}Z".format),
    float: ("FLOAT64", "number_value", float),
    int: ("INT64", "string_value", str),
    str: ("STRING", "string_value", str),
}
"""By the type of a property: that of the column, and the oneof case and the value on the wire."""


def result_set(rows: Sequence[dict[str, Any]]) -> bytes:
    """Return a serialised ``google.spanner.v1.PartialResultSet`` with all rows.

    Args:
        rows: with values of the same types under the same names, at least one.

    Raises:
        ImportError: google-cloud-spanner is not installed.
        KeyError: a value is of another type.
    """
    types = importlib.import_module("google.cloud.spanner_v1.types")
    struct = importlib.import_module("google.protobuf.struct_pb2")
    message = types.PartialResultSet.pb()(last=True)
    for name, value in rows[0].items():
        code, _, _ = _ENCODINGS[type(value)]
        field = message.metadata.row_type.fields.add(name=name)
        field.type_.code = types.TypeCode[code]
    for row in rows:
        for value in row.values():
            _, case, encode = _ENCODINGS[type(value)]
            message.values.append(struct.Value(**{case: encode(value)}))
    raw: bytes = message.SerializeToString()
    return raw


def reading_rows(raw: bytes, names: Sequence[str], *, is_lazy: bool) -> Read:
    """Return the function that reads the columns ``names`` of a result set.

    Args:
        raw: as of :func:`result_set`.
        names: of columns.
        is_lazy: whether only these are decoded, by ``lazy_decode=True``.

    Raises:
        ImportError: google-cloud-spanner is not installed.
    """
    streamed = importlib.import_module("google.cloud.spanner_v1.streamed")
    message = importlib.import_module("google.cloud.spanner_v1.types").PartialResultSet
    deserialize = message.deserialize
    columns = [field.name for field in deserialize(raw).metadata.row_type.fields]
    positions = [columns.index(name) for name in names]

    def read() -> list[list[Any]]:
        results = streamed.StreamedResultSet(iter([deserialize(raw)]), lazy_decode=is_lazy)
        if is_lazy:
            decode = results.decode_column
            return [[decode(row, position) for position in positions] for row in results]
        return [[row[position] for position in positions] for row in results]

    return read
