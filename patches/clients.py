"""The clients that can be patched. A new one is a package beside this module and a line below."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, get_args

from lazyentity.patches.registry import ours
from lazyentity.patches.spec import ClientSpec

# Also parsed by tools/clients.py: literals only. A client comes after those that it is built on.
ClientName: TypeAlias = Literal[
    "datastore",
    "ndb",
    "appengine",
    "gcloud-aio",
    "gcloud-rest",
    "beam",
    "firestore",
]
"""The name of a client, for type checkers."""

PACKAGES: Final = tuple(name.replace("-", "_") for name in get_args(ClientName))
"""The package of each client, beside this module."""

CLIENTS: Final[dict[str, ClientSpec]] = {}
"""Every client by its name."""


def register(client: ClientSpec) -> None:
    """Add a client to those that ``patch()`` knows. Those that it calls come first."""
    client.build_on([CLIENTS[name] for name in client.over])
    CLIENTS[client.name] = client


def wrapping_of(given: object) -> Callable[..., Any] | None:
    """Return the function by which ``wrap()`` wraps an object; None, if its client has none.

    Raises:
        RuntimeError: if its client needs the native backend, and another one serves.
    """
    modules = [kind.__module__ for kind in type(given).__mro__]
    for client in CLIENTS.values():
        if client.wrapping and any(
            f"{module}.".startswith(f"{client.waits_for_import}.") for module in modules
        ):
            if client.lacks_native():
                raise RuntimeError(f"wrap() of {client.distribution} needs the native backend")
            function: Callable[..., Any] = ours(*client.wrapping.rsplit(".", 1))
            return function
    return None


for _package in PACKAGES:
    register(importlib.import_module(f"lazyentity.patches.{_package}.seams").CLIENT)
