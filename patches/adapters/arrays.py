"""Object arrays of numpy, which libraries for tables take and make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lazyentity.decoding import held_by


@held_by.register
def _objects_of(array: np.ndarray) -> Iterable[Any]:
    return array.ravel().tolist() if array.dtype == object else ()
