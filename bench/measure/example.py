"""The example of ``bench --kind`` in the documentation: a service that reads two properties.

Run as ``python -m lazyentity.bench.measure.example --output FILE``. It stores orders on a loopback
server, and runs the command on them as a user does, in its own process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback

ENTITIES, PROPERTIES = 300, 100
ARGUMENTS = ["--kind", synthetic.KIND, "--read", "amount,status", "--rate", "200"]
_STATES = "open", "paid", "sent"


def order(properties: int, number: int) -> datastore.Entity:
    """An order with an amount, a status and properties of six types, ``properties`` in all."""
    made = synthetic.MIXES["mixed"].entity(properties - 2, number)
    made.update({"amount": number * 0.25, "status": _STATES[number % len(_STATES)]})
    return made


@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The results file of the command.",
)
@click.argument("more", nargs=-1)
def main(*, output: Path, more: tuple[str, ...]) -> None:
    """Run the command of the example, with MORE of its options."""
    with loopback.serving([order(PROPERTIES, number) for number in range(ENTITIES)]) as served:
        subprocess.run(
            [
                *(sys.executable, "-m", "lazyentity", "bench", *ARGUMENTS),
                *("--project", synthetic.PROJECT, "--output", str(output), *more),
            ],
            env=os.environ | {GCD_HOST: f"127.0.0.1:{served.server.grpc_port}"},
            check=True,
        )


if __name__ == "__main__":
    main()
