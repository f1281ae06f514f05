"""Importing this module patches every supported client: ``import lazyentity.auto``."""

from __future__ import annotations

import lazyentity

lazyentity.patch()
