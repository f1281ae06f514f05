"""The supported clients, read from the sources: setup.py, the Makefile and nox import no client.

As a command, ``python tools/clients.py extras`` prints the extras that install the clients side by
side, and ``python tools/clients.py distributions`` these clients.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

CHECKOUT = Path(__file__).resolve().parent.parent
REQUIRED = "datastore"
"""The client whose entities lazyentity makes: it is required, the others are extras."""

_Literal = TypeVar("_Literal")


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
        own_environment: whether its requirements exclude other clients' requirements, so that its
            tests need a separate environment.
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

    def version_between(self) -> list[str]:
        """Return the requirement on :attr:`between`, if there is one."""
        return [f"{self.distribution}=={self.between}"] if self.between else []

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
    """Return the extras of the clients with a separate environment."""
    return [client.name for client in clients() if client.own_environment]


def lowest(extra: str = "") -> list[str]:
    """Return a requirement on exactly the lowest supported version for each requirement.

    Args:
        extra: of a client; without one, the requirements of lazyentity itself.
    """
    own = [client.requirement for client in clients() if client.name == REQUIRED]
    wanted = extras()[extra] if extra else [*own, *constant("setup.py", "REQUIREMENTS")]
    return [requirement.partition(",")[0].replace(">=", "==") for requirement in wanted]


def main() -> None:
    """Print the names that the command line asks for.

    Raises:
        SystemExit: it asks for something else.
    """
    match sys.argv[1:]:
        case ["extras"]:
            print(",".join(extra for extra in extras() if extra not in apart()))
        case ["distributions"]:
            print(*(one.distribution for one in clients() if not one.own_environment), sep="\n")
        case _:
            raise SystemExit("usage: python tools/clients.py extras | distributions")


if __name__ == "__main__":
    main()
