"""Methods of pydantic that applications keep, bound to a model or a type adapter."""

from __future__ import annotations

from lazyentity.patches.adapters.functions import FunctionSeam
from lazyentity.patches.registry import Seam

_BUILDS_VALIDATOR = "{0}.__pydantic_complete__ or {0}.__pydantic_validator__.validate_python"
_BUILDS_SERIALIZER = "{0}.__pydantic_complete__ or {0}.__pydantic_serializer__.to_python"
_BUILDS_ADAPTER = "getattr({0}, 'pydantic_complete', True) or {0}.validator.validate_python"

_FIRST = {
    "__init__": _BUILDS_VALIDATOR,
    "model_validate": _BUILDS_VALIDATOR,
    "model_validate_json": _BUILDS_VALIDATOR,
    "model_validate_strings": _BUILDS_VALIDATOR,
    "model_dump": _BUILDS_SERIALIZER,
    "model_dump_json": _BUILDS_SERIALIZER,
    "validate_python": _BUILDS_ADAPTER,
    "validate_json": _BUILDS_ADAPTER,
    "validate_strings": _BUILDS_ADAPTER,
    "dump_python": _BUILDS_ADAPTER,
    "dump_json": _BUILDS_ADAPTER,
}
"""The expression that builds an incomplete model, by the name of the method.

pydantic resolves forward references in the frame that called the method: a fixed distance.
"""


def serving_bound(*seams: Seam) -> tuple[Seam, ...]:
    """Return the seams; those of such methods serve the methods that were bound before, too."""
    return tuple(
        FunctionSeam(seam, first)
        if type(seam) is Seam and (first := _FIRST.get(seam.path.rpartition(".")[2]))
        else seam
        for seam in seams
    )
