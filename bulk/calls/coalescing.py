"""Single gets of many threads, joined into one look-up."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from typing import Any, Final

from google.api_core.exceptions import BadRequest
from google.cloud import datastore
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.bulk.limits import MAX_KEYS
from lazyentity.bulk.rpcs import Rpcs, is_partial, serialised_key
from lazyentity.codec.mode import EAGER, is_eager
from lazyentity.patches.datastore.wrapping import conversion_of, reading

WAIT_SECONDS: Final = 0.002
"""How long a get waits for other gets, unless all look-ups before it end earlier."""

_CHECK_SECONDS: Final = 1.0
"""How often a get checks whether its look-up has ended without a notice."""


_made: weakref.WeakSet[Coalesced] = weakref.WeakSet()


def _begin_again() -> None:
    for coalesced in _made:
        coalesced._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


def coalesce(client: datastore.Client) -> Coalesced:
    """Return a proxy of a client that joins single gets of several threads into one look-up.

    A get that is alone is sent at once. A get that comes while other look-ups are under way waits
    until these end, 2 milliseconds have passed or there are 1,000 keys. Then it goes together with
    all gets that came in the meantime.

    Args:
        client: patched, wrapped or stock; its own connection is used.
    """
    return Coalesced(client)


class Coalesced:
    """A proxy of a client; everything but :meth:`get` is the client's own.

    Any thread may use the proxy. It has no threads of its own, and nothing to close.

    Args:
        client: as for :func:`coalesce`.
    """

    def __init__(self, client: datastore.Client) -> None:
        self._client = client
        self._begin()
        _made.add(self)

    def _begin(self) -> None:
        """Begin with no look-up under way, as a child process does, which has one thread."""
        self._lock = threading.Lock()
        self._under_way = 0
        # Gets inside eager() are apart: all gets of a look-up have its mode.
        self._gathering: dict[bool, _Batch] = {}

    def __copy__(self) -> Coalesced:
        return Coalesced(self._client)

    def __getattr__(self, name: str) -> Any:
        if name == "_client" or name.startswith("__"):
            # A copy that is being made has no client yet, and clients refuse to be copied.
            raise AttributeError(name)
        return getattr(self._client, name)

    def get(self, key: Key, *arguments: Any, **options: Any) -> Entity | None:
        """Read one entity, as ``client.get()``; each caller gets an entity object of its own.

        The client itself serves a get with options, inside a transaction, or with a key that cannot
        be looked up. Look-ups of several gets are retried as in
        :func:`~lazyentity.bulk.get_many`.

        Args:
            key: the key of the entity.
            *arguments: further arguments of ``client.get()``.
            **options: the options of ``client.get()``.

        Returns:
            The entity, None if there is none.

        Raises:
            As ``client.get()``, for this key alone.
        """
        if arguments or options or not self._is_suitable(key):
            return self._single(key, *arguments, **options)
        mode = is_eager()
        # Not under the lock, which all threads want at the same time.
        serialised, call = serialised_key(key), _Call()
        with self._lock:
            if not self._under_way:
                self._under_way += 1
                batch = None
            else:
                batch, is_leader = self._join(serialised, call, mode)
        if batch is None:
            try:
                return self._single(key)
            finally:
                self._end_look_up()
        if is_leader:
            try:
                batch.is_due.wait(WAIT_SECONDS)
                self._look_up(batch, mode)
            finally:
                # A signal handler may raise in this thread, for which others wait. It may raise
                # again in the calls below; the others then find that the batch has ended.
                batch.has_ended = True
                self._withdraw(batch, mode)
                batch.wake_next()
        else:
            batch.wait(call)
        if call.is_alone:
            return self._single(key)
        if call.error is not None:
            raise call.error
        return call.entity

    def _single(self, key: Key, *arguments: Any, **options: Any) -> Entity | None:
        entity: Entity | None = self._client.get(key, *arguments, **options)
        return entity

    def _is_suitable(self, key: Any) -> bool:
        if type(key) is not Key or key.project != self._client.project or is_partial(key):
            return False
        return self._client.current_transaction is None

    def _join(self, serialised: bytes, call: _Call, mode: bool) -> tuple[_Batch, bool]:
        """Add a get to the batch that is being gathered; the thread that begins one leads it."""
        batch = self._gathering.get(mode)
        is_leader = batch is None or batch.has_ended
        if batch is None or is_leader:
            batch = self._gathering[mode] = _Batch()
        else:
            batch.waiting.append(call)
        batch.calls.setdefault(serialised, []).append(call)
        if len(batch.calls) == MAX_KEYS:
            del self._gathering[mode]
            batch.is_due.set()
        return batch, is_leader

    def _end_look_up(self) -> None:
        with self._lock:
            self._under_way -= 1
            if not self._under_way:
                for batch in self._gathering.values():
                    batch.is_due.set()

    def _look_up(self, batch: _Batch, mode: bool) -> None:
        with self._lock:
            self._under_way += 1
        try:
            self._withdraw(batch, mode)
            token = EAGER.set(mode)
            try:
                batch.look_up(self._client)
            finally:
                EAGER.reset(token)
        finally:
            self._end_look_up()

    def _withdraw(self, batch: _Batch, mode: bool) -> None:
        """Let no more gets join a batch."""
        with self._lock:
            if self._gathering.get(mode) is batch:
                del self._gathering[mode]


class _Call:
    """One get that waits for its batch.

    Attributes:
        is_over: a lock that is released when the caller may go on.
        is_abandoned: whether the caller was interrupted and does not wait any more.
        entity: the result.
        error: raised in place of the result.
        is_alone: whether the caller has to send the get by itself.
    """

    __slots__ = ("entity", "error", "is_abandoned", "is_alone", "is_over")

    def __init__(self) -> None:
        self.entity: Entity | None = None
        self.error: Exception | None = None
        self.is_alone = True
        self.is_abandoned = False
        # A lock takes a fifth of the time of an Event.
        self.is_over = threading.Lock()
        self.is_over.acquire()

    def answer(self, entity: Entity | None, error: Exception | None = None) -> None:
        self.entity, self.error, self.is_alone = entity, error, False


class _Batch:
    """Gets that go together.

    Each caller wakes the next one. If all were woken at once, each would wake only to wait again,
    for the interpreter's lock.

    Attributes:
        calls: by serialised key, all calls that ask for the key.
        waiting: the calls of the threads that have to be woken, in the order of their coming.
        is_due: set when there is no more reason to wait for further gets.
        has_ended: whether the calls have their answers. Callers send the calls without an answer.
    """

    def __init__(self) -> None:
        self.calls: dict[bytes, list[_Call]] = {}
        self.waiting: deque[_Call] = deque()
        self.is_due = threading.Event()
        self.has_ended = False

    def look_up(self, client: datastore.Client) -> None:
        """Answer the calls, unless one of them may be the cause of an error for all."""
        found: dict[bytes, Any] = {}
        failure: Exception | None = None
        client = reading(client)
        try:
            found.update(Rpcs(client, None, None).look_up(self.calls, eventual=False))
        except BadRequest:
            # Any of the keys can be the cause. Each caller sends its own and gets its own answer.
            return
        except Exception as error:  # noqa: BLE001  # raised by each caller
            failure = error
        convert = conversion_of(client)
        for serialised, calls in self.calls.items():
            if serialised not in found:
                for call in calls:
                    call.answer(None, failure)
                continue
            message = found[serialised]
            for call in calls:
                try:
                    # In this thread: messages of a stock client must not be read by several.
                    call.answer(None if message is None else convert(message._pb))
                except Exception as error:  # noqa: BLE001  # raised by the caller
                    call.answer(None, error)

    def wait(self, call: _Call) -> None:
        """Wait until the batch has ended, in the thread of a caller, and wake the next caller."""
        try:
            while not call.is_over.acquire(timeout=_CHECK_SECONDS):
                # A caller that was interrupted twice wakes nobody.
                if self.has_ended:
                    break
        finally:
            # In this order: if the batch ends in between, both threads wake a caller, not neither.
            call.is_abandoned = True
            if self.has_ended:
                self.wake_next()

    def wake_next(self) -> None:
        """Let one caller go on, which then wakes the next one; after the batch has ended."""
        while True:
            try:
                call = self.waiting.popleft()
            except IndexError:
                return
            call.is_over.release()
            if not call.is_abandoned:
                return
