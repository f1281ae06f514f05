"""The functions of ndb itself, where nobody replaced them."""

from __future__ import annotations

import functools
from typing import Any, Final

from google.cloud.ndb import _datastore_api, _datastore_query, model
from google.cloud.ndb import key as key_module

from lazyentity.patches.upstream import UpstreamModules, is_upstream

_UPSTREAM: Final = UpstreamModules(model, _datastore_api, _datastore_query)

upstream_function = _UPSTREAM.upstream_function
upstream_functions = _UPSTREAM.upstream_functions
methods = functools.partial(_UPSTREAM.methods, model.Property)
"""Returns ndb's own methods of ``ndb.Property`` with some names."""

_Key: Final = key_module.Key
# It shows what the class has now.
_key_attributes: Final = vars(_Key)
_found: Final = _key_attributes["_from_ds_key"]
_from_ds_key: Final = _found if is_upstream(_found, key_module) else None


def ndb_key(ds_key: Any) -> Any:
    """Make a key as ``Key._from_ds_key()`` does; it is called if somebody replaced it."""
    kind = key_module.Key
    if kind is not _Key or _key_attributes["_from_ds_key"] is not _from_ds_key:
        return kind._from_ds_key(ds_key)
    key = object.__new__(_Key)
    key._key, key._reference = ds_key, None
    return key
