"""SQLModel: its models have constructors and validation of their own."""

from __future__ import annotations

from lazyentity.patches.adapters.bound import serving_bound
from lazyentity.patches.adapters.pydantic import init, model_validate
from lazyentity.patches.registry import Seam

SEAMS = serving_bound(
    Seam("sqlmodel.main", "SQLModel.__init__", init),
    Seam("sqlmodel.main", "SQLModel.model_validate", model_validate),
)
