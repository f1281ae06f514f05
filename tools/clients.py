"""The supported clients, read from the sources: setup.py, the Makefile and CI import no client.

As a command, ``python tools/clients.py extras`` prints the extras that install the clients side by
side, and ``python tools/clients.py distributions`` these clients. ``python tools/clients.py table
PAGE.rst`` brings the table of a document up to date, and ``--check`` only says whether it is.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

CHECKOUT = Path(__file__).resolve().parent.parent
REQUIRED = "datastore"
"""The client whose entities lazyentity makes: it is required, the others are extras."""

_Literal = TypeVar("_Literal")

_START, _END = ".. clients-start", ".. clients-end"


def constant(path: str, name: str) -> Any:
    """Return the literal that the module at ``path`` assigns to ``name`` at its top level.

    Of a ``Literal`` type, its values are returned.

    The module is parsed, not imported: its imports need not be installed while building.

    Args:
        path: within the checkout.
        name: of the constant.

    Raises:
        LookupError: the module assigns nothing to the name.
        ValueError: its value is not a literal.
    """
    for node in ast.parse((CHECKOUT / path).read_text(encoding="utf-8")).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=found)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value)
            ) if found == name:
                return ast.literal_eval(value.slice if isinstance(value, ast.Subscript) else value)
    raise LookupError(f"{path} assigns nothing to {name}")


class SupportedClient(NamedTuple):
    """A supported client.

    Attributes:
        name: the name that ``patch()`` takes, also the name of the client's extra.
        distribution: the distribution to install.
        versions: the supported ones, as in a requirement.
        own_environment: whether its requirements exclude those of the other clients, so that its
            tests need an environment of their own.
        extra: the extra of the distribution that installs the patched parts; mostly none.
        between: a version between the first and the last supported one, for CI; none without one.
    """

    name: str
    distribution: str
    versions: str
    own_environment: bool = False
    extra: str = ""
    between: str = ""

    @property
    def requirement(self) -> str:
        """The requirement on the client.

        The required client has no upper bound: newer versions stay installable, and outside of the
        supported range the patch warns and leaves the client stock.
        """
        lowest, bound = self._bounds()
        limits = f">={lowest}" if self.name == REQUIRED else f">={lowest},<{bound}"
        extra = f"[{self.extra}]" if self.extra else ""
        return f"{self.distribution}{extra}{limits}"

    @property
    def range(self) -> str:
        """The supported versions, as a reader writes them."""
        lowest, bound = self._bounds()
        match [int(part) for part in bound.split(".")]:
            case [major, minor] if minor > 0:
                last = f"{major}.{minor - 1}"
                return last if lowest == last else f"{lowest} to {last}"
            case _:
                return f"{lowest} to below {bound}"

    def _bounds(self) -> tuple[str, str]:
        lowest, bound = (part.strip().lstrip("<>=").strip() for part in self.versions.split(","))
        return lowest, bound


def package_of(name: str) -> str:
    """Return the name of a client's package in patches/, and of the folder of its tests."""
    return name.replace("-", "_")


def clients() -> list[SupportedClient]:
    """Return every supported client, in the order of patches/clients.py."""
    found = []
    for name in constant("patches/clients.py", "ClientName"):
        package = package_of(name)
        seams = f"patches/{package}/seams.py"
        versions = constant(seams, "SUPPORTED_VERSIONS")
        distribution = constant(seams, "DISTRIBUTION")
        own = _assigned(seams, "OWN_ENVIRONMENT", False)
        extra = _assigned(seams, "DISTRIBUTION_EXTRA", "")
        between = _assigned(seams, "VERSION_BETWEEN", "")
        found.append(SupportedClient(name, distribution, versions, own, extra, between))
    return found


def _assigned(seams: str, name: str, default: _Literal) -> _Literal:
    """Return a constant of a module of seams; the default, if the module does not assign it."""
    try:
        return cast(_Literal, constant(seams, name))
    except LookupError:
        return default


def extras() -> dict[str, list[str]]:
    """Return, by extra, the requirement on each client that lazyentity itself does not need."""
    return {client.name: [client.requirement] for client in clients() if client.name != REQUIRED}


def apart() -> list[str]:
    """Return the extras of the clients with an environment of their own."""
    return [client.name for client in clients() if client.own_environment]


def table() -> str:
    """Return the table of the supported clients, in reStructuredText."""
    rows = [("Client", "Versions", "Patched by", "Installed by")]
    for client in clients():
        package = "lazyentity" if client.name == REQUIRED else f"'lazyentity[{client.name}]'"
        names = f'``patch("{client.name}")``', f"``pip install {package}``"
        rows.append((client.distribution, client.range, *names))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def with_table(text: str) -> str:
    """Return a document with the current table between its two markers.

    Raises:
        ValueError: the document lacks a marker.
    """
    before, start, rest = text.partition(f"{_START}\n")
    _, end, after = rest.partition(f"{_END}\n")
    if not (start and end):
        raise ValueError(f"the document has no table of clients; put {_START} and {_END} into it")
    return f"{before}{start}\n{table()}\n\n{end}{after}"


def main() -> None:
    """Run the command that the command line names.

    Raises:
        SystemExit: with ``--check``, the table of the document is not up to date.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("extras", help="print the extras to install side by side")
    commands.add_parser("distributions", help="print the clients that are installed side by side")
    tables = commands.add_parser("table", help="bring the table of a document up to date")
    tables.add_argument("document", type=Path)
    tables.add_argument("--check", action="store_true", help="change nothing")
    arguments = parser.parse_args()
    if arguments.command == "extras":
        print(",".join(extra for extra in extras() if extra not in apart()))
        return
    if arguments.command == "distributions":
        print(*(one.distribution for one in clients() if not one.own_environment), sep="\n")
        return
    text = arguments.document.read_text(encoding="utf-8")
    current = with_table(text)
    if arguments.check and text != current:
        raise SystemExit(
            f"the table of clients in {arguments.document} is not up to date; write it by "
            f"python tools/clients.py table {arguments.document}"
        )
    if not arguments.check:
        arguments.document.write_text(current, encoding="utf-8")


if __name__ == "__main__":
    main()
