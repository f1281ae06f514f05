"""Responses kept for requests that repeat, as a benchmark's do."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

MAX_BYTES = 64 * 1024 * 1024


class ResponseCache:
    """Responses by request, each good for one version of the store only.

    Bounded in bytes, the least recently used dropped first. May be used from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[int, bytes]] = OrderedDict()
        self._bytes = 0

    def get(self, request: Hashable, version: int) -> bytes | None:
        """The response to ``request`` at that version of the store, None when there is none."""
        with self._lock:
            entry = self._entries.get(request)
            if entry is None or entry[0] != version:
                return None
            self._entries.move_to_end(request)
            return entry[1]

    def put(self, request: Hashable, version: int, response: bytes) -> None:
        """Keep a response that was computed from that version of the store, or from a later one."""
        with self._lock:
            replaced = self._entries.pop(request, None)
            if replaced is not None:
                self._bytes -= len(replaced[1])
            self._entries[request] = version, response
            self._bytes += len(response)
            while self._bytes > MAX_BYTES:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._bytes -= len(dropped)
