"""The two sides of every comparison: the code of a stock client, and that of a patched one.

For reads both sides run with nothing patched: each names its own response class and its own
conversion, with the steps of ``Client.get_multi`` between them. Writes have no such seam: both
sides use the client's own code, and the lazy side runs inside of `patched`.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.cloud.datastore import Entity, helpers
from google.cloud.datastore_v1.types import datastore as datastore_types

import lazyentity
from lazyentity.bench.harness import Context
from lazyentity.patches.api import responses
from lazyentity.patches.datastore.seams import CLIENT
from lazyentity.patches.registry import Patch
from lazyentity.readers import LAZY as LAZY_READER, STOCK as STOCK_READER


@dataclass(frozen=True)
class Side:
    """The conversion of a side: a serialised ``LookupResponse`` becomes entities."""

    deserialize: Callable[[bytes], Any]
    convert: Callable[[Any], list[Entity]]

    def entities(self, response: bytes) -> list[Entity]:
        """The entities found in ``response``, in order, as ``Client.get_multi`` returns them."""
        return self.convert(self.deserialize(response))


def _convert_stock(response: Any) -> list[Entity]:
    # `Client.get_multi` gathers the proxies of all responses before it converts them.
    found = [result.entity for result in response.found]
    return [helpers.entity_from_protobuf(entity_pb._pb) for entity_pb in found]


def _convert(response: Any) -> list[Entity]:
    return list(map(iter(response._found).read_next, itertools.repeat(LAZY_READER)))


def _materialize(response: Any) -> list[Entity]:
    return list(map(lazyentity.materialize, _convert(response)))


STOCK = Side(datastore_types.LookupResponse.deserialize, _convert_stock)
LAZY = Side(responses.LookupResponse.deserialize, _convert)
"""The conversion of ``get_multi`` in `lazyentity.patches.datastore.reads`."""
EAGER_SIDE = Side(lambda raw: responses.LookupResponse.deserialize(raw, STOCK_READER), _convert)
"""The lazy side of an eager client: stock entities again."""
MATERIALIZED = Side(LAZY.deserialize, _materialize)
"""The lazy side, with stock entities made of the lazy ones."""


@contextlib.contextmanager
def patched(*others: Patch) -> Iterator[None]:
    """Patch the client while inside, even where LAZYENTITY_DISABLE asks not to.

    Args:
        others: the patches of further clients.

    Raises:
        AttributeError, ImportError: a client lacks something that its patch replaces.
    """
    with contextlib.ExitStack() as stack:
        for patch in (CLIENT.patch, *others):
            patch.apply()
            stack.callback(patch.revert)
        yield


def patching(*others: Patch) -> Context:
    """The context in which the lazy side of a client runs."""
    return functools.partial(patched, *others)


def to_bytes(entity: Entity) -> bytes:
    """The serialised message that the client makes of ``entity``."""
    raw: bytes = helpers.entity_to_protobuf(entity)._pb.SerializeToString()
    return raw


class PatchedProcess(Exception):
    """lazyentity is active in this process, so that the stock side would not be stock."""


def require_unpatched() -> None:
    """Make sure that the stock side is stock.

    Raises:
        PatchedProcess: the stock side would be patched.
    """
    if active := lazyentity.patched():
        raise PatchedProcess(
            f"lazyentity is active here ({', '.join(sorted(active))}): the comparison needs a "
            "process without `import lazyentity.auto`"
        )
