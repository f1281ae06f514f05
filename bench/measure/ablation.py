"""The gain of each seam of a client: calls with all seams, and with all but one.

CPU time of the client's process is measured: on a machine that others use, wall time spreads too
far.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.stats import paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import MILLISECONDS, Budget, Comparison, Context, interleave
from lazyentity.bench.measure.command import Benchmark, Run
from lazyentity.bench.measure.page_results import SeamGains
from lazyentity.patches.registry import Patch, Seam

COUNTS = (10, 100)
READ = "1"
ALL = "all seams"


@dataclass(frozen=True)
class Subject:
    """A client whose seams are measured.

    Attributes:
        patches: applied to the client, beside that of google-cloud-datastore.
        seams: the seams of the client.
        entities: their number in each call.
        calls: the names of the calls.
        loaded: gives, while inside, the comparison of a call for a number of properties.
    """

    patches: Sequence[Patch]
    seams: Sequence[Seam]
    entities: int
    calls: Sequence[str]
    loaded: Callable[[str, int], AbstractContextManager[Comparison]]

    def without(self) -> dict[str, tuple[Seam, ...]]:
        """The seams to remove, by the name of a row: each alone, then all of each module."""
        alone: dict[str, tuple[Seam, ...]] = {}
        modules: dict[str, tuple[Seam, ...]] = {}
        for seam in self.seams:
            module = seam.module.rpartition(".")[2]
            alone[f"{module}.{seam.path}"] = (seam,)
            modules[f"{module}, all"] = (*modules.get(f"{module}, all", ()), seam)
        return {**alone, **{name: found for name, found in modules.items() if len(found) > 1}}


# A subject imports its client, which few environments have.


def _ndb() -> Subject:
    from lazyentity.bench.subjects import end_to_end_models
    from lazyentity.patches.ndb.seams import CLIENT

    entities = 300

    def loaded(call: str, properties: int) -> AbstractContextManager[Comparison]:
        return end_to_end_models.loaded(call, entities, properties, READ)

    # Reads by query, by key and from the global cache, and writing back the models read.
    calls = ("ndb fetch", "ndb get_multi", "ndb get_multi, cached", "ndb get_multi, put_multi")
    return Subject((CLIENT.patch,), CLIENT.patch.seams, entities, calls, loaded)


def _appengine() -> Subject:
    from lazyentity.bench.subjects import appengine
    from lazyentity.patches.appengine.lasting import LastingSeam
    from lazyentity.patches.appengine.ndb.seams import PART
    from lazyentity.patches.appengine.seams import CLIENT

    reading = [call for call, reads in appengine.NDB_CALLS.items() if READ in reads]
    calls = {call.name: call for call in (*reading, appengine.OF_POLYMODELS)}

    def loaded(call: str, properties: int) -> AbstractContextManager[Comparison]:
        canned = appengine.canned(properties)
        return appengine.comparison(appengine.AppCase(calls[call], canned, READ))

    patches = [part.patch for part in CLIENT.with_parts()]
    removable = [seam for seam in PART.patch.seams if not isinstance(seam, LastingSeam)]
    return Subject(patches, removable, appengine.COUNT, tuple(calls), loaded)


def _beam() -> Subject:
    from lazyentity.bench.measure import beam
    from lazyentity.patches.beam.seams import CLIENT

    @contextlib.contextmanager
    def loaded(call: str, properties: int) -> Iterator[Comparison]:
        with beam.serving(beam.ENTITIES, properties):
            task = beam.reading_task(call, properties)
            yield Comparison({"lazy": task}, functools.partial(verify.check_same, where=call))

    calls = (beam.READ, beam.CODED, beam.PIPELINE)
    return Subject((CLIENT.patch,), CLIENT.patch.seams, beam.ENTITIES, calls, loaded)


def _rest() -> Subject:
    from lazyentity.bench.measure import rest
    from lazyentity.patches.gcloud_aio.seams import CLIENT

    def loaded(call: str, properties: int) -> AbstractContextManager[Comparison]:
        return rest.loaded(rest.ENTITIES, properties)

    return Subject((CLIENT.patch,), CLIENT.patch.seams, rest.ENTITIES, (rest.QUERY,), loaded)


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "ndb": _ndb,
    "appengine": _appengine,
    "beam": _beam,
    "gcloud-aio": _rest,
}


@contextlib.contextmanager
def patched_without(patches: Sequence[Patch], removed: Sequence[Seam]) -> Iterator[None]:
    """Patch the client while inside, but for the removed seams."""
    with sides.patched(*patches):
        for seam in removed:
            seam.remove()
        yield


def measure(subject: Subject, call: str, properties: int, budget: Budget) -> SeamGains:
    """Time one call with all seams, with none, and without the seams of each row in turn.

    Args:
        subject: the client.
        call: one of the calls of the subject.
        properties: of each entity.
        budget: for all rounds together.
    """
    rows = subject.without()
    contexts: dict[str, Context] = {
        ALL: functools.partial(sides.patched, *subject.patches),
        "stock": contextlib.nullcontext,
        **{
            name: functools.partial(patched_without, subject.patches, removed)
            for name, removed in rows.items()
        },
    }
    with subject.loaded(call, properties) as compared:
        tasks = dict.fromkeys(contexts, compared.tasks["lazy"])
        timed = interleave(tasks, budget, contexts, time.process_time)
        compared.check(timed["stock"].last, timed[ALL].last)
    whole = timed[ALL].seconds
    return SeamGains(
        call=f"{call}, {subject.entities} x {properties}",
        milliseconds=summarize(scaled(whole, MILLISECONDS)),
        stock=paired_ratio(timed["stock"].seconds, whole),
        gains={name: paired_ratio(timed[name].seconds, whole) for name in rows},
    )


def _lines(client: str, run: Run) -> Iterator[SeamGains]:
    subject = SUBJECTS[client]()
    for call in subject.calls:
        if run.only in call:
            yield from (measure(subject, call, count, run.budget) for count in COUNTS)


NDB, APPENGINE, BEAM, GCLOUD_AIO = (
    Benchmark(
        functools.partial(_lines, client),
        Budget(seconds=60, min_rounds=9, max_rounds=400, sample_seconds=0.02),
    )
    for client in SUBJECTS
)
