"""The costs of lazyentity besides decoding: its import, and reading a decoded property."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import timeit

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import sides
from lazyentity.bench.harness.lines import Access
from lazyentity.bench.harness.stats import Summary, scaled, summarize
from lazyentity.bench.harness.timing import NANOSECONDS, Budget, figures, interleave

_IMPORT = """
import gc, time
import google.cloud.datastore
gc.collect()
start = time.perf_counter()
import lazyentity.auto
print(time.perf_counter() - start)
"""

_SUBSCRIPTS = 100
_LOOPS = 500


def import_ms(rounds: int) -> Summary:
    """Milliseconds that ``import lazyentity.auto`` takes after google.cloud.datastore's own import.

    Each round is a fresh interpreter. It collects garbage first: the client's import leaves so
    many new objects that a full collection is due soon, and would come by chance within these
    milliseconds or after them. One more interpreter before writes the bytecode caches, as
    installing a package does, even where the environment says not to.

    Raises:
        subprocess.CalledProcessError: the import failed; its error is on stderr.
    """
    command = [sys.executable, "-c", _IMPORT]
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    with tempfile.TemporaryDirectory() as caches:
        environment["PYTHONPYCACHEPREFIX"] = caches
        took = [
            float(
                subprocess.run(
                    command, check=True, stdout=subprocess.PIPE, text=True, env=environment
                ).stdout
            )
            for _ in range(rounds + 1)
        ]
    return summarize(scaled(took[1:], 1e3))


def access(budget: Budget) -> Access:
    """Time ``entity["name"]`` of a decoded property against the same subscript of a plain dict.

    One statement has many subscripts, so that the loop around them does not count.
    """
    case = decoding.case("mixed", 20, "1")
    entity = sides.LAZY.entities(case.responses[0])[0]
    (name,) = synthetic.names_read(synthetic.MIXES["mixed"], 20, "1")
    plain = dict(entity)
    statement = "; ".join([f"subject[{name!r}]"] * _SUBSCRIPTS)
    timed = interleave(
        {
            kind: functools.partial(
                timeit.Timer(statement, globals={"subject": subject}).timeit, _LOOPS
            )
            for kind, subject in (("entity", entity), ("plain_dict", plain))
        },
        budget,
    )
    per_subscript = NANOSECONDS / (_SUBSCRIPTS * _LOOPS)
    return Access(**figures(timed, per_subscript, ratio=("entity", "plain_dict")))
