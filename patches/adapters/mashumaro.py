"""mashumaro: a class with its orjson mixin holds orjson's function from when it was defined.

The native backend replaces that function in place, and the class needs nothing.
"""

from __future__ import annotations

from lazyentity._inplace import SLOTS
from lazyentity.patches.adapters.calls import CallSeam, on_failure

SEAMS = (
    ()
    if SLOTS
    else (CallSeam("mashumaro.mixins.orjson", "DataClassORJSONMixin.to_json", on_failure, {}),)
)
