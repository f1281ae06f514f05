"""A lock that a forked child can take, whichever thread held it in the parent."""

from __future__ import annotations

import os
import threading


class ForkableLock:
    """A re-entrant lock that is new in each child.

    The thread that held it when the process was forked is not there in the child, and would never
    release it.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()
