"""Counting for a profile of the models of ``google.appengine.ext.ndb``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lazyentity.patches.appengine.ndb import models
from lazyentity.patches.appengine.ndb.values import LazyValues
from lazyentity.patches.appengine.profiling import counted_index
from lazyentity.profiling.observer import while_running


def _counting(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _model(index: Any, convert: Any, cls: Any, pb: Any, *args: Any) -> Any:
        made = original(index, convert, cls, pb, *args)
        values = getattr(made, "_values", None)
        if type(values) is LazyValues:
            counted = counted_index(pb, index)
            if counted is not None:
                values._index = counted
        return made

    return _model


while_running(models, "_model", _counting)
