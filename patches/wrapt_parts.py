"""The part of wrapt that lazyentity uses; :mod:`lazyentity.patches.wrapping` imports it."""

from wrapt import (
    FunctionWrapper,
    ObjectProxy,
    apply_patch,
    register_post_import_hook,
    resolve_path,
)
from wrapt.importer import ImportHookFinder  # type: ignore[import-untyped]  # only its top is typed

__all__ = [
    "FunctionWrapper",
    "ImportHookFinder",
    "ObjectProxy",
    "apply_patch",
    "register_post_import_hook",
    "resolve_path",
]
