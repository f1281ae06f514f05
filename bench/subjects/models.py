"""The same entities as models of google-cloud-ndb: bytes in, models out, then attributes read."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.cloud import ndb
from google.cloud.ndb import model as ndb_model

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import Conversion
from lazyentity.bench.harness.timing import Budget, Comparison, Task
from lazyentity.bench.subjects import conversion
from lazyentity.patches.ndb import seams as ndb_patch

MIX = "mixed"
COUNTS = (10, 100, 500)
READS = ("0", "4", "all", synthetic.EAGER)
"""The reads of each model, see `synthetic.names_read`. Eager: none, of models as ndb makes them."""

_PROPERTIES: dict[type, Callable[[], Any]] = {
    bool: ndb.BooleanProperty,
    bytes: ndb.BlobProperty,
    datetime.datetime: functools.partial(ndb.DateTimeProperty, tzinfo=datetime.timezone.utc),
    float: ndb.FloatProperty,
    int: ndb.IntegerProperty,
    str: ndb.StringProperty,
}


def model_class(properties: int) -> type[Any]:
    """Make a ``Model`` of the benchmark's kind, with the properties of its mixed entities."""
    return _kind_class(ndb.Model, _declared(properties))


def _declared(properties: int) -> dict[str, Any]:
    values = synthetic.MIXES[MIX].part(properties, 0)
    return {name: _PROPERTIES[type(value)]() for name, value in values.items()}


STRUCTURED = "place"
"""The structured property of :func:`structured_class`."""
_PARTS = 4


def structured_class(properties: int) -> type[Any]:
    """As :func:`model_class`, with a structured property of four parts for the last one."""
    part = type("Place", (ndb.Model,), _declared(_PARTS))
    structured = {STRUCTURED: ndb.StructuredProperty(part)}
    return _kind_class(ndb.Model, {**_declared(properties - 1), **structured})


def structured_entity(properties: int, number: int) -> Any:
    """Make an entity of :func:`structured_class` as ndb writes it by default: of dotted names."""
    mix = synthetic.MIXES[MIX]
    entity = mix.entity(properties - 1, number)
    entity.update(
        {f"{STRUCTURED}.{name}": value for name, value in mix.part(_PARTS, number).items()}
    )
    return entity


def expando_class(_properties: int) -> type[Any]:
    """Make an ``Expando`` of the benchmark's kind."""
    return _kind_class(ndb.Expando, {})


def _kind_class(base: type[Any], properties: dict[str, Any]) -> type[Any]:
    # ndb looks classes up by kind, and finds the class made last.
    return type(synthetic.KIND, (base,), properties)


CLASSES: dict[str, Callable[[int], type[Any]]] = {"Model": model_class, "Expando": expando_class}


CONTEXTS = sides.contexts(ndb_patch.CLIENT.patch)
"""The contexts in which the sides run."""


@dataclass(frozen=True)
class ModelCase:
    """One line of the benchmark: the entities of ``source`` as models of a kind of class."""

    kind_of_class: str
    source: decoding.Case
    names: tuple[str, ...]


def case(kind_of_class: str, properties: int, read: str) -> ModelCase:
    """The case of ``read`` from models of ``properties`` properties; ndb then knows their class."""
    CLASSES[kind_of_class](properties)
    # Eager models are plain on both sides: reading them takes the same time.
    names = (
        ()
        if read == synthetic.EAGER
        else synthetic.names_read(synthetic.MIXES[MIX], properties, read)
    )
    return ModelCase(kind_of_class, decoding.case(MIX, properties, read), names)


def _read_task(deserialize: Callable[[bytes], Any], case: ModelCase) -> Task:
    responses, names = case.source.responses, case.names

    def convert_and_read() -> list[Any]:
        # Looked up now, because the patch replaces the attribute of the module.
        make = ndb_model._entity_from_protobuf
        models = [
            make(result.entity) for response in responses for result in deserialize(response).found
        ]
        for instance in models:
            for name in names:
                getattr(instance, name)
        return models

    return convert_and_read


def comparison(case: ModelCase) -> Comparison:
    """The ways of ``case``: stock, lazy and upb_parse. Whole models are compared."""
    raw_entities = [
        raw for response in case.source.responses for raw in decoding.entities_of(response)
    ]
    lazy = sides.EAGER if case.source.read == synthetic.EAGER else sides.LAZY
    tasks = {
        "stock": _read_task(sides.STOCK.deserialize, case),
        "lazy": _read_task(lazy.deserialize, case),
        "upb_parse": conversion.upb_task(raw_entities),
    }
    return Comparison(tasks, check_models, CONTEXTS)


def check_models(stock: Sequence[Any], lazy: Sequence[Any]) -> None:
    """Compare two lists of models whole."""
    for side in (stock, lazy):
        if {type(instance) for instance in side} != {type(stock[0])}:
            raise verify.OutputMismatch("models of more than one class")
    verify.check_same(
        [instance.key.to_legacy_urlsafe("s~") for instance in stock],
        [instance.key.to_legacy_urlsafe("s~") for instance in lazy],
        "keys",
    )
    for expected, found in zip(stock, lazy, strict=True):
        values, lazy_values = expected.to_dict(), found.to_dict()
        verify.check_same(sorted(values), sorted(lazy_values), "names")
        for name, value in values.items():
            verify.check_same(value, lazy_values[name], name)


def measure(case: ModelCase, budget: Budget) -> Conversion:
    """Time ``case``."""
    return conversion.line_of(comparison(case).timed(budget), case.kind_of_class, case.source)
