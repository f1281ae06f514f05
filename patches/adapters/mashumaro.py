"""mashumaro: a class with its orjson mixin holds orjson's function from when it was defined."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import on_failure, seam

SEAMS = (seam("mashumaro.mixins.orjson", "DataClassORJSONMixin.to_json", on_failure, {}),)
