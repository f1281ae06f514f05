"""The functions of ndb itself, where nobody replaced them."""

from __future__ import annotations

from typing import Final

from google.appengine.ext.ndb import context, model, polymodel, utils

from lazyentity.patches.upstream import UpstreamModules

# Decorators of ndb are in utils.
_UPSTREAM: Final = UpstreamModules(model, polymodel, context, utils)

methods = _UPSTREAM.methods
upstream_function = _UPSTREAM.upstream_function
upstream_functions = _UPSTREAM.upstream_functions
