"""The tested uses of the libraries that have an adapter."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Install the adapters of the imported libraries, and remove them afterwards."""
    with warnings.catch_warnings():
        # Other tests may have imported functions that are adapted here.
        warnings.simplefilter("ignore")
        adapters.install()
    yield
    adapters.remove()


class Uses(NamedTuple):
    """How applications use a library.

    Attributes:
        distribution: the name that it is installed by, as in the list of adapters.
        requires: the module that has to be installed.
        uses: by name. Each takes an entity and returns what the library made of it.
        raw: the serialised entity that they are given.
    """

    distribution: str | None
    requires: str
    uses: dict[str, Callable[[Any], Any]]
    raw: bytes = PLAIN


def module(name: str) -> Any:
    """Import a module, which need not be installed on every version of Python."""
    return importlib.import_module(name)
