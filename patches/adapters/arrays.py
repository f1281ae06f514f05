"""Object arrays of numpy, which libraries for tables take and make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lazyentity.search import children_of


@children_of.register
def _objects_of(array: np.ndarray) -> Iterable[Any]:
    return array.ravel().tolist() if array.dtype == object else ()
