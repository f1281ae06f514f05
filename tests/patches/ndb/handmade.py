"""Small models.

Imports nothing of lazyentity: their pickles are loaded where it is not.
"""

from __future__ import annotations

import datetime

from google.cloud import ndb
from google.cloud.ndb import polymodel

from tests.patches.models import handmade

UTC = datetime.timezone.utc

MODELS = handmade.small_models(ndb, polymodel, __name__)
Address, Person, Animal, Cat, Anything = MODELS


class Other(ndb.Model):
    """A model that was given as a key by mistake."""
