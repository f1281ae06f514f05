"""Warnings that a client is not patched, or not everywhere."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from lazyentity.codec.describing import module_of


def warn(message: str) -> None:
    """Warn at the line that called into lazyentity, ``import lazyentity.auto`` included."""
    ours = __name__.partition(".")[0]
    stacklevel = 1
    frame = sys._getframe()
    while frame.f_back is not None and _package(frame) in (ours, "importlib", "wrapt"):
        # warnings does not count importlib's own frames.
        stacklevel += _package(frame) != "importlib"
        frame = frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=stacklevel)


def _package(frame: FrameType) -> str:
    return module_of(frame).partition(".")[0]
