"""The functions of db itself, where nobody replaced them."""

from __future__ import annotations

from typing import Final

from google.appengine.ext import db
from google.appengine.ext.db import polymodel

from lazyentity.patches.upstream import UpstreamModules

_UPSTREAM: Final = UpstreamModules(db, polymodel)

upstream_function = _UPSTREAM.upstream_function
upstream_functions = _UPSTREAM.upstream_functions
