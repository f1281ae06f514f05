"""The model classes of an application whose models are not lazy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.cloud.ndb import model

from lazyentity.codec.describing import property_name
from lazyentity.patches.ndb.expandos import makes_dynamic_properties
from lazyentity.patches.ndb.mappings import OF_CONSTRUCTOR, OF_MAKING, constructs_plainly
from lazyentity.patches.ndb.structured import obstacle, storing_obstacle


def notes() -> Iterator[str]:
    """Yield a sentence for each kind whose models ndb itself may make, as far as classes tell."""
    for kind, model_class in sorted(model.Model._kind_map.items()):
        reasons = dict.fromkeys(_reasons(model_class))
        if reasons:
            yield (
                f"models of {property_name(kind)} may not be lazy, because ndb itself makes them: "
                f"{'; '.join(reasons)}"
            )


def _reasons(model_class: Any) -> Iterator[str]:
    for prop in model_class._properties.values():
        reason = storing_obstacle(prop)
        if reason is None and isinstance(prop, model.StructuredProperty):
            reason = obstacle(prop)
        if reason is not None:
            yield reason
    if issubclass(model_class, model.Expando):
        if not makes_dynamic_properties(model_class):
            yield OF_MAKING
        elif not constructs_plainly(model_class):
            yield OF_CONSTRUCTOR
