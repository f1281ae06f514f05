"""Telling functions of ndb itself from those that somebody put in their place."""

from __future__ import annotations

import functools
from typing import Final

from google.cloud.ndb import model

from lazyentity.patches.models.originals import Originals

_ORIGINALS: Final = Originals(model)

is_own = _ORIGINALS.is_own
own = _ORIGINALS.own
methods = functools.partial(_ORIGINALS.methods, model.Property)
"""Returns ndb's own methods of ``ndb.Property`` with some names."""
