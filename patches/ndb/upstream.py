"""The functions of ndb itself, where nobody replaced them."""

from __future__ import annotations

import functools
from typing import Final

from google.cloud.ndb import _datastore_api, _datastore_query, _eventloop, model, tasklets
from google.cloud.ndb import context as context_module

from lazyentity.patches.upstream import UpstreamModules

_UPSTREAM: Final = UpstreamModules(
    model, _datastore_api, _datastore_query, _eventloop, context_module, tasklets
)

upstream_function = _UPSTREAM.upstream_function
upstream_functions = _UPSTREAM.upstream_functions
methods_of = _UPSTREAM.methods
methods = functools.partial(_UPSTREAM.methods, model.Property)
"""Returns ndb's own methods of ``ndb.Property`` with some names."""
