"""Telling functions of ndb itself from those that somebody put in their place."""

from __future__ import annotations

import functools
from typing import Final

from google.cloud.ndb import model

from lazyentity.patches.upstream import UpstreamModules

UPSTREAM: Final = UpstreamModules(model)

is_upstream = UPSTREAM.is_upstream
upstream_function = UPSTREAM.upstream_function
methods = functools.partial(UPSTREAM.methods, model.Property)
"""Returns ndb's own methods of ``ndb.Property`` with some names."""
