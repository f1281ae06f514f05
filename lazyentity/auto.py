"""Patch every supported client when imported: ``import lazyentity.auto``.

The import logs one line to the logger ``lazyentity``, at the level INFO: clients, their versions,
whether they are patched, and the backend.
"""

from __future__ import annotations

from lazyentity import patch

patch()
