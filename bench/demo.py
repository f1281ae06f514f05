"""``python -m lazyentity demo``: three lines of user code, without and with lazyentity.

A loopback server is loaded with orders; then two fresh processes run the same code against it, one
of them after ``import lazyentity.auto``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from lazyentity._environment import DISABLE, is_set
from lazyentity.bench import demo_worker, sides
from lazyentity.bench.cli import Failure, Interrupted
from lazyentity.bench.server.demo import ENTITIES, PROPERTIES
from lazyentity.bench.server.process import LoopbackServer


class ResultsDiffer(click.ClickException):
    """The two processes computed different totals."""


_HOSTS = {"datastore": "DATASTORE_EMULATOR_HOST", "firestore": "FIRESTORE_EMULATOR_HOST"}


def run_worker(client: str, port: int, *, lazy: bool) -> dict[str, Any]:
    """Run the user code in its own process.

    Raises:
        subprocess.CalledProcessError: the process failed; its error is on stderr.
    """
    # A separate session: Ctrl-C in the terminal would make the child print a traceback.
    child = subprocess.run(
        [sys.executable, "-m", demo_worker.__name__, client, "lazy" if lazy else "stock"],
        check=True,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {_HOSTS[client]: f"127.0.0.1:{port}"},
    )
    report: dict[str, Any] = json.loads(child.stdout)
    return report


def _show_code(console: Console, title: str, *lines: str) -> None:
    code = Syntax("\n".join(lines), "python", background_color="default")
    console.print(Panel(code, title=title, title_align="left", expand=False))


def _show(console: Console, client: str, stock: dict[str, Any], lazy: dict[str, Any]) -> None:
    code = demo_worker.CODE[client].rstrip()
    _show_code(console, "without", code)
    _show_code(console, "with", demo_worker.ACTIVATION, code)
    table = Table(
        box=box.SIMPLE_HEAD,
        title=f"medians of {demo_worker.ROUNDS} runs of the last two lines",
        title_justify="left",
    )
    for column in ("", "without", "with lazyentity", "ratio"):
        table.add_column(column, justify="right" if column else "left")
    for label, name in (("wall time", "wall"), ("CPU time of the client process", "cpu")):
        before, after = stock[name], lazy[name]
        table.add_row(label, f"{before:.1f} ms", f"{after:.1f} ms", f"{before / after:.1f}x")
    table.add_row("total", f"{stock['total']:,.2f}", f"{lazy['total']:,.2f}", "equal")
    console.print(table)


def _run_both(console: Console, client: str) -> tuple[dict[str, Any], dict[str, Any]]:
    server = LoopbackServer(demo=True, firestore=client == "firestore")
    with console.status("running"), server:
        stock = run_worker(client, server.grpc_port, lazy=False)
        return stock, run_worker(client, server.grpc_port, lazy=True)


@click.command()
@click.option("--firestore", is_flag=True, help="Show it for a query of Firestore.")
def main(*, firestore: bool) -> None:
    """Show what one import changes for a query, over a real gRPC connection on this machine."""
    if is_set(DISABLE):
        raise Failure(f"{DISABLE} is set, so there is nothing to show; unset it")
    console, client = Console(), "firestore" if firestore else "datastore"
    try:
        sides.require_unpatched()
        stock, lazy = _run_both(console, client)
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    except (RuntimeError, sides.PatchedProcess) as error:
        raise click.ClickException(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise click.ClickException(
            f"a process of the demonstration ended with status {error.returncode}; its error is "
            "above"
        ) from error
    console.print(
        f"A {client.capitalize()} server on 127.0.0.1 holds {ENTITIES} orders of {PROPERTIES} "
        "properties. Two processes ask it the same."
    )
    if stock["total"] != lazy["total"]:
        raise ResultsDiffer(f"stock computed {stock['total']!r}, lazyentity {lazy['total']!r}")
    _show(console, client, stock, lazy)
