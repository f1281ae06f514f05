"""The tested uses of the libraries that have an adapter."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from lazyentity._inplace import SLOTS
from lazyentity.patches import adapters
from tests.support.strategies.samples import PLAIN, serialise

TEXTS = serialise({"text": "Grüße", "other": "words"})
TABULAR = serialise(
    {
        "text": "Grüße",
        "number": 42,
        "list": [1, 2],
        "inner": {"deep": "value"},
        "inners": [{"deep": "one", "yes": True}, {"deep": "two", "yes": False}],
        "empty": [],
    }
)
"""Without a list of different types, which no column takes."""

_NEED_SLOTS = {
    "immutables": ("Map",),
    "jsonschema-rs": ("Registry", *(f"Draft{n}Validator" for n in (4, 6, 7, 201909, 202012))),
    "pydantic": ("message of an error",),
    "python-rapidjson": ("Encoder", "Encoder subclass"),
}
"""Uses of classes that the pure backend cannot adapt: test_limits has them there."""


class _Libraries:
    """Has each library, which need not be installed on every version of Python, as an attribute."""

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(name)


lib: Any = _Libraries()


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Install the adapters of the imported libraries, and remove them afterwards."""
    with warnings.catch_warnings():
        # Other tests may have imported functions that are adapted here.
        warnings.simplefilter("ignore")
        adapters.install()
    yield
    adapters.remove()


def listed(kind: Any) -> Any:
    """Return the type of lists of a kind, which a type checker need not know."""
    return list[kind]


class Holds:
    """An object of the application with these attributes."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Uses(NamedTuple):
    """How applications use a library.

    Attributes:
        distribution: the name that it is installed by, as in the list of adapters.
        uses: by name. Each takes an entity and returns what the library made of it.
        module: the module that has to be installed, if its name is not the distribution's.
        raw: the serialised entity that they are given.
    """

    distribution: str | None
    uses: dict[str, Callable[[Any], Any]]
    module: str = ""
    raw: bytes = PLAIN

    def requires(self) -> str:
        """Return the module that has to be installed."""
        return self.module or str(self.distribution).replace("-", "_")

    def is_installed(self) -> bool:
        """Say whether the library is installed."""
        return importlib.util.find_spec(self.requires().partition(".")[0]) is not None

    def possible(self) -> dict[str, Callable[[Any], Any]]:
        """Return the uses that the backend can adapt."""
        limits = () if SLOTS else _NEED_SLOTS.get(str(self.distribution), ())
        return {name: use for name, use in self.uses.items() if name not in limits}
