"""Count the functions and files of lazyentity that a read, a write and a fetch of ndb run through.

    .venv/bin/python -m tests.tools.walks [--names | --json]

Each call ran before, as in an application that has been running for a while. The backend is the
pure one, which a profile function sees into; the native one has the same modules.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["LAZYENTITY_BACKEND"] = "pure"

import click
from google.cloud import datastore, ndb
from tabulate import tabulate

import lazyentity
from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback
from lazyentity.bench.server.process import LoopbackServer

_OWN = str(Path(lazyentity.__file__).parent)
_KIND = "Order"
_BEFORE = 5
"""Calls before the one that is counted: names are learned when they come again."""


class Order(ndb.Model):  # type: ignore[misc]  # ndb announces no types
    """A model of the entities that are read."""

    amount = ndb.IntegerProperty()
    note = ndb.StringProperty()


def walked(call: Callable[[], object]) -> list[tuple[str, str]]:
    """Return the file and the name of each function of lazyentity that a call runs, in order."""
    found: dict[tuple[str, str], None] = {}

    def note(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_OWN):
            file = str(Path(code.co_filename).relative_to(_OWN))
            found[file, f"{code.co_qualname}:{code.co_firstlineno}"] = None

    for _ in range(_BEFORE):
        call()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [*found]


def main() -> None:
    """Print a table, and the functions if they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="list the functions")
    parser.add_argument("--json", action="store_true", help="print the functions as JSON alone")
    arguments = parser.parse_args()
    with LoopbackServer() as server, loopback.client(server.grpc_port) as client:
        os.environ["DATASTORE_EMULATOR_HOST"] = f"127.0.0.1:{server.grpc_port}"
        order = datastore.Entity(client.key(_KIND, 1))
        order.update(amount=1, note="text")
        client.put(order)
        # As where logging is configured: the line about the patches does not wait for the RPCs.
        logging.getLogger("lazyentity").addHandler(logging.NullHandler())
        logging.getLogger("lazyentity").setLevel(logging.INFO)
        lazyentity.patch()
        models = ndb.Client(project=synthetic.PROJECT)

        def read() -> Any:
            return next(iter(client.query(kind=_KIND).fetch()))["amount"]

        def write() -> None:
            received = client.get(order.key)
            received["amount"] = 2
            client.put(received)

        def fetch() -> Any:
            with models.context():
                return [each.amount for each in Order.query().fetch()]

        walks = {
            'a query, entity["amount"]': walked(read),
            "get and put of a changed entity": walked(write),
            "a fetch of ndb, order.amount": walked(fetch),
        }
    if arguments.json:
        click.echo(json.dumps(walks))
        return
    for walk, functions in walks.items() if arguments.names else ():
        click.echo("\n".join([walk, *(f"  {file} {function}" for file, function in functions)]))
    rows = [
        (walk, len(functions), len({file for file, _ in functions}))
        for walk, functions in walks.items()
    ]
    click.echo(tabulate(rows, headers=["walk", "functions", "files"]))


if __name__ == "__main__":
    main()
