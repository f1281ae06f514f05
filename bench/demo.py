"""``python -m lazyentity demo``: three lines of user code, without and with lazyentity.

A loopback server is loaded with orders; then two fresh processes run the same code against it, one
of them after ``import lazyentity.auto``.
"""

from __future__ import annotations

import subprocess

import click
import msgspec
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from lazyentity._environment import DISABLE, is_set
from lazyentity.bench import demo_worker
from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, processes, sides
from lazyentity.bench.harness.outcomes import Failure, Interrupted

ENTITIES = 300
PROPERTIES = 100


class ResultsDiffer(click.ClickException):
    """The two processes computed different totals."""


def _order(number: int) -> datastore.Entity:
    order = synthetic.MIXES["mixed"].entity(PROPERTIES - 1, number)
    order["amount"] = number * 0.25
    return order


def run_worker(grpc_port: int, *, lazy: bool) -> demo_worker.Report:
    """Run the user code in its own process.

    Raises:
        subprocess.CalledProcessError: the process failed; its error is on stderr.
    """
    host = {GCD_HOST: f"127.0.0.1:{grpc_port}"}
    reported = processes.call(demo_worker.run, lazy, demo_worker.ROUNDS, **host)
    return msgspec.json.decode(reported, type=demo_worker.Report)


def _show_code(console: Console, title: str, lazy: bool) -> None:
    lines = [demo_worker.IMPORTS, "", demo_worker.USER_CODE.rstrip()]
    if lazy:
        lines.insert(0, demo_worker.ACTIVATION)
    code = Syntax("\n".join(lines), "python", background_color="default")
    console.print(Panel(code, title=title, title_align="left", expand=False))


def _show(console: Console, stock: demo_worker.Report, lazy: demo_worker.Report) -> None:
    _show_code(console, "without", lazy=False)
    _show_code(console, "with", lazy=True)
    table = Table(
        box=box.SIMPLE_HEAD,
        title=f"medians of {demo_worker.ROUNDS} runs of the last two lines",
        title_justify="left",
    )
    for column in ("", "without", "with lazyentity", "ratio"):
        table.add_column(column, justify="right" if column else "left")
    for label, before, after in (
        ("wall time", stock.wall_ms, lazy.wall_ms),
        ("CPU time of the client process", stock.cpu_ms, lazy.cpu_ms),
    ):
        table.add_row(label, f"{before:.1f} ms", f"{after:.1f} ms", f"{before / after:.1f}x")
    table.add_row(
        "properties decoded",
        f"{stock.decoded:,} of {stock.properties:,}",
        f"{lazy.decoded:,} of {lazy.properties:,}",
        "",
    )
    table.add_row("total", f"{stock.total:,.2f}", f"{lazy.total:,.2f}", "equal")
    console.print(table)


def _run_both(console: Console) -> tuple[demo_worker.Report, demo_worker.Report]:
    orders = [_order(number) for number in range(ENTITIES)]
    with console.status("running"), loopback.serving(orders) as served:
        stock = run_worker(served.server.grpc_port, lazy=False)
        return stock, run_worker(served.server.grpc_port, lazy=True)


@click.command()
def main() -> None:
    """Show what one import changes for a query, over a real gRPC connection on this machine."""
    if is_set(DISABLE):
        raise Failure(f"{DISABLE} is set, so there is nothing to show; unset it")
    console = Console()
    try:
        sides.require_unpatched()
        stock, lazy = _run_both(console)
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
        f"A Datastore server on 127.0.0.1 holds {ENTITIES} orders of {PROPERTIES} properties. Two "
        "processes ask it the same."
    )
    if stock.total != lazy.total:
        raise ResultsDiffer(f"stock computed {stock.total!r}, lazyentity {lazy.total!r}")
    _show(console, stock, lazy)
