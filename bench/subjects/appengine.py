"""Reads of App Engine's bundled client: canned responses in, entities out, then reads."""

from __future__ import annotations

import contextlib
import functools
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.appengine.api import datastore
from google.appengine.datastore import entity_bytes_pb2

from lazyentity.bench.cases import appengine, synthetic
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import Conversion
from lazyentity.bench.harness.timing import Budget, Task, interleave
from lazyentity.bench.subjects import conversion
from lazyentity.patches.appengine.seams import CLIENT

COUNT = 100
LISTS = 25
READS = ("0", "4", "all")

CONTEXTS = sides.contexts(*(part.patch for part in CLIENT.with_parts()))
"""The contexts in which the sides run."""


@dataclass(frozen=True)
class Call:
    """A way to read the canned entities.

    Attributes:
        name: as results and goals call it.
        prepare: called once, before the service answers; returns the function to time, which
            returns the objects that it has read.
        read: reads one attribute or property of such an object.
        contents: gives everything about an object, to be compared.
    """

    name: str
    prepare: Callable[[appengine.Canned], Callable[[], list[Any]]]
    read: Callable[[Any, str], Any]
    contents: Callable[[Any], Any]


def _get(canned: appengine.Canned) -> Callable[[], list[Any]]:
    return functools.partial(datastore.Get, canned.keys())


def _from_pb(canned: appengine.Canned) -> Callable[[], list[Any]]:
    # Looked up now, because the patch replaces the attribute of the class.
    return lambda: [datastore.Entity._FromPb(message) for message in canned.messages]


def _contents(entity: Any) -> Any:
    return entity.key(), list(entity.items()), entity.unindexed_properties(), entity.ToPb()


CALLS: dict[Call, tuple[str, ...]] = {
    Call("datastore.Get", _get, operator.getitem, _contents): READS,
    Call("Entity._FromPb", _from_pb, operator.getitem, _contents): READS,
}
"""How much is read after each call."""

OF_LISTS: dict[Call, tuple[str, ...]] = {
    Call("Entity._FromPb, lists", _from_pb, operator.getitem, _contents): ("4", "all"),
}
"""The same for entities whose properties are lists of eight values."""


@dataclass(frozen=True)
class AppCase:
    """One line of the benchmark: a call, the entities that it reads, and how much of them."""

    call: Call
    canned: appengine.Canned
    read: str

    @property
    def properties(self) -> int:
        """Of each entity."""
        return self.canned.properties

    @property
    def entities(self) -> int:
        """How many there are."""
        return self.canned.entities

    @property
    def wire_bytes(self) -> int:
        """The mean size of one."""
        return self.canned.wire_bytes

    @property
    def names(self) -> tuple[str, ...]:
        """The properties that are read."""
        return synthetic.names_read(self.canned.mix, self.canned.properties, self.read)


def _read_task(case: AppCase) -> Task:
    make, read, names = case.call.prepare(case.canned), case.call.read, case.names

    def read_all() -> list[Any]:
        made = make()
        for each in made:
            for name in names:
                read(each, name)
        return made

    return read_all


@contextlib.contextmanager
def tasks(case: AppCase) -> Iterator[dict[str, Task]]:
    """Give the tasks to time for ``case``, by name; the services answer while inside."""
    raw = [message.SerializeToString() for message in case.canned.messages]
    parse = entity_bytes_pb2.EntityProto.FromString
    with appengine.serving(**case.canned.answers):
        yield {
            "stock": _read_task(case),
            "lazy": _read_task(case),
            "upb_parse": lambda: [parse(each) for each in raw],
        }


def check(case: AppCase, stock: Sequence[Any], lazy: Sequence[Any]) -> None:
    """Compare the objects that the sides read.

    Raises:
        verify.OutputMismatch: the objects differ.
    """
    contents = case.call.contents
    verify.check_same(list(map(contents, stock)), list(map(contents, lazy)), case.call.name)


mixed = functools.partial(appengine.canned, COUNT)
lists = functools.partial(appengine.canned, LISTS, mix=appengine.LISTS)
"""Make the entities that are read."""


def select(
    calls: Mapping[Call, Sequence[str]], canned: Callable[[], appengine.Canned] = mixed
) -> list[Callable[[], AppCase]]:
    """Makers of the cases of calls, which read so much of the entities each."""

    def making(call: Call, read: str) -> Callable[[], AppCase]:
        return lambda: AppCase(call, canned(), read)

    return [making(call, read) for call, reads in calls.items() for read in reads]


def measure(case: AppCase, budget: Budget) -> Conversion:
    """Time ``case`` by the CPU time of the process, which answers the RPCs itself.

    The results of the last timed round are compared.

    Raises:
        verify.OutputMismatch: the sides differ.
    """
    with tasks(case) as to_time:
        timed = interleave(to_time, budget, CONTEXTS, time.process_time)
    check(case, timed["stock"].last, timed["lazy"].last)
    return conversion.result(case.call.name, case, timed)
