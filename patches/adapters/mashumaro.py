"""mashumaro: a class with its orjson mixin holds orjson's function from when it was defined."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import CallSeam, on_failure

SEAMS = (CallSeam("mashumaro.mixins.orjson", "DataClassORJSONMixin.to_json", on_failure, {}),)
