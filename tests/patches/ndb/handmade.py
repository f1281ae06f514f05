"""Models written by hand.

Imports nothing of lazyentity: their pickles are loaded where it is not.
"""

from __future__ import annotations

import datetime
from typing import Any

from google.cloud import ndb
from google.cloud.ndb import model, polymodel

from tests.patches.models import handmade
from tests.patches.models.handmade import WHEN

UTC = datetime.timezone.utc

MODELS = handmade.small_models(ndb, polymodel, __name__)
Address, Person, Animal, Cat, Anything = MODELS


class Other(ndb.Model):
    """A model that was given as a key by mistake."""


class Everything(handmade.with_properties(ndb, MODELS)):  # type: ignore[misc]
    """One property of each kind there is, and some twice."""

    compressed_text = model.CompressedTextProperty("ct")
    local_when = ndb.DateTimeProperty(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    changed = ndb.DateTimeProperty("c")


def everything() -> Any:
    """Make a model of which every property has a value."""
    return Everything(
        id=5,
        compressed_text="ct" * 50,
        local_when=WHEN.replace(tzinfo=UTC),
        changed=WHEN,
        **handmade.values(ndb, MODELS, ndb.User),
    )
