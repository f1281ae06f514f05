"""Peak memory of a process that runs a pipeline of :mod:`lazyentity.bench.measure.beam` once.

The server is the one that ``DATASTORE_EMULATOR_HOST`` names.
"""

from __future__ import annotations

import importlib

import lazyentity
from lazyentity.bench.harness.processes import peak_of_process


def megabytes(side: str, name: str) -> float:
    """Return the peak of this process, whose pipeline reads the property ``name``."""
    if side == "lazy":
        # Before Beam's own modules are imported.
        lazyentity.patch("beam", strict=True)
    importlib.import_module("lazyentity.bench.measure.beam").count_chosen(name)
    return peak_of_process() / 1e6
