"""A model as ndb makes it and a model as the patch makes it, of the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from google.appengine.datastore.entity_bytes_pb2 import EntityProto
from google.appengine.ext.ndb import model

from lazyentity.patches.appengine.ndb.seams import PART
from tests.patches.appengine.ndb.snapshots import snapshot
from tests.patches.models.pairs import ModelPair, applied, stopped_clocks
from tests.support.snapshots import outcome

_ADAPTER = model.ModelAdapter()


def patched() -> AbstractContextManager[None]:
    """Have ndb patched; around this, nothing is."""
    return applied(PART.patch)


def converted(raw: bytes) -> Any:
    """Make a model of a serialised entity as reads do."""
    entity = EntityProto()
    entity.MergeFromString(raw)
    return _ADAPTER.pb_to_entity(entity)


def stock_model(raw: bytes) -> Any:
    """Make a model with nothing patched."""
    assert not PART.patch.active
    return converted(raw)


def lazy_model(raw: bytes) -> Any:
    """Make a model under the patch, of names that came before."""
    with patched():
        for _ in range(2):
            outcome(converted, raw)
        return converted(raw)


def written(entity: Any) -> Any:
    """Return the message that ``put`` sends, as text."""
    with fixed_now():
        entity._prepare_for_put()
    return str(entity._to_pb())


def seen(call: Callable[[], Any]) -> Any:
    """Return the result of ``call``, as :func:`snapshot`, or its error."""
    return outcome(lambda: snapshot(call()))


class Pair(ModelPair):
    """A model of each side, to which the same is done."""

    patched = staticmethod(patched)
    stock_model = staticmethod(stock_model)
    lazy_model = staticmethod(lazy_model)
    written = staticmethod(written)
    seen = staticmethod(seen)


def fixed_now() -> AbstractContextManager[None]:
    """Stop the clock of the properties that are set when a model is written."""
    return stopped_clocks(model, "_now")
