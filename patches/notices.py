"""Warnings that a client is not patched, and the line in the log that says what was patched.

Applications patch first and configure logging later. So the replacements of functions that send
RPCs ask :data:`waiting`, and log the line as soon as somebody would see it.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from types import FrameType

from lazyentity.codec.describing import module_of

_logger = logging.getLogger("lazyentity")

waiting: list[Callable[[], str]] = []
"""The function that makes the line, while it was not logged yet; almost always empty."""


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


def announce(line: Callable[[], str]) -> None:
    """Log a line at the level INFO: now, or with the first RPC after logging was configured.

    Args:
        line: makes the line, when it is logged. It takes the place of a line that still waits.
    """
    waiting[:] = [line]
    log()


def log() -> None:
    """Log the line that waits, if there is a handler for it."""
    if _logger.isEnabledFor(logging.INFO) and _logger.hasHandlers():
        try:
            line = waiting.pop()
        except IndexError:
            # Another thread was faster.
            return
        try:
            text = line()
        except Exception:
            # An RPC is about to be sent, which must not fail for this.
            _logger.debug("cannot say what is patched", exc_info=True)
        else:
            _logger.info("%s", text)
