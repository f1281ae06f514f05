"""Peak memory of a process that runs a pipeline of :mod:`lazyentity.bench.measure.beam` once.

``python -m lazyentity.bench.measure.beam_memory SIDE PROPERTY`` is such a process. The server is
the one that ``DATASTORE_EMULATOR_HOST`` names.
"""

from __future__ import annotations

import importlib

import click

import lazyentity
from lazyentity.bench.harness.processes import peak_of_process

_MEGABYTE = 1e6


@click.command()
@click.argument("side")
@click.argument("name")
def main(*, side: str, name: str) -> None:
    """Print the megabytes."""
    if side == "lazy":
        lazyentity.patch("beam", strict=True)
    importlib.import_module("lazyentity.bench.measure.beam").count_chosen(name)
    click.echo(peak_of_process() / _MEGABYTE)


if __name__ == "__main__":
    main()
