"""Single gets of many threads, joined into one look-up."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from google.api_core.exceptions import BadRequest
from google.cloud import datastore
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity._mode import EAGER, is_eager
from lazyentity.bulk.limits import MAX_KEYS
from lazyentity.bulk.rpcs import Rpcs, is_partial, serialised_key
from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.patches.datastore.wrapping import conversion_of, gets_as_known, reading

WAIT_SECONDS: Final = 0.002
"""How long a get waits for other gets, unless all look-ups before it end earlier."""

_CHECK_SECONDS: Final = 1.0
"""How often a get checks whether its look-up has ended without a notice."""


_OWN: Final = frozenset({"_client", "_gathering", "_lock", "_under_way"})
"""The attributes that the proxy stores itself."""

if TYPE_CHECKING:
    from datetime import datetime

    from google.api_core.retry import Retry
    from google.cloud.datastore.transaction import Transaction

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


def uncoalesced(client: datastore.Client) -> datastore.Client:
    """Return the client of a proxy by :func:`coalesce`; any other client as it is."""
    return client._client if isinstance(client, Coalesced) else client


class Coalesced:
    """A proxy of a client; everything but :meth:`get` is the client's own.

    Attributes that are set on it are set on the client.

    Any thread may use the proxy. It starts no threads, and has nothing to close.

    Args:
        client: as for :func:`coalesce`.
    """

    def __init__(self, client: datastore.Client) -> None:
        self._client = uncoalesced(client)
        self._begin()
        _made.add(self)

    def _begin(self) -> None:
        """Begin with no look-up under way, as a child process does, which has one thread."""
        self._lock = threading.Lock()
        # The calls whose look-ups are sent and not over.
        self._under_way: set[_Call] = set()
        # Gets inside eager() are apart: the mode is that of the look-up.
        self._gathering: dict[bool, _Batch] = {}

    def __copy__(self) -> Coalesced:
        return Coalesced(self._client)

    def __getattr__(self, name: str) -> Any:
        if name == "_client" or name.startswith("__"):
            # A copy that is being made has no client yet, and clients refuse to be copied.
            raise AttributeError(name)
        return getattr(self._client, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _OWN or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._client, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._client, name)

    def get(
        self,
        key: Key,
        missing: list[Entity] | None = None,
        deferred: list[Key] | None = None,
        transaction: Transaction | None = None,
        eventual: bool = False,
        retry: Retry | None = None,
        timeout: float | None = None,
        read_time: datetime | None = None,
    ) -> Entity | None:
        """Read one entity, as ``client.get()``; each caller gets its own entity object.

        The client itself serves a get with options, inside a transaction, with a key that cannot be
        looked up, or by a replaced method. Look-ups of several gets are retried as in
        :func:`~lazyentity.bulk.get_many`.

        Args:
            key: the key of the entity.
            missing: this and all others: as of ``client.get()``.
            deferred: see above.
            transaction: see above.
            eventual: see above.
            retry: see above.
            timeout: see above.
            read_time: see above.

        Returns:
            The entity, None if there is none.

        Raises:
            As ``client.get()``, for this key alone.
        """
        options = {
            "missing": missing,
            "deferred": deferred,
            "transaction": transaction,
            "eventual": eventual or None,
            "retry": retry,
            "timeout": timeout,
            "read_time": read_time,
        }
        given = {name: option for name, option in options.items() if option is not None}
        if given or not self._is_suitable(key):
            # Only these: the client's class may lack the others.
            return self._single(key, **given)
        mode = is_eager()
        # Not under the lock, which all threads want at the same time.
        serialised, call = serialised_key(key), _Call()
        # A signal handler may raise at any line, and other threads wait for this one. So what they
        # need is done twice: where it is due, and in the end.
        try:
            batch = self._join(serialised, call, mode)
            if batch is None:
                return self._lone(key, call)
            if batch.leader is call:
                batch.is_due.wait(WAIT_SECONDS)
                self._look_up(batch, mode)
            else:
                batch.wait(call)
        finally:
            self._leave(call, mode)
        if call.is_alone:
            return self._single(key)
        if call.error is not None:
            raise _own(call.error)
        return call.entity

    def _single(self, key: Key, **options: Any) -> Entity | None:
        entity: Entity | None = self._client.get(key, **options)
        return entity

    def _is_suitable(self, key: Any) -> bool:
        client = self._client
        if type(key) is not Key or key.project != client.project or is_partial(key):
            return False
        # A key of another database would fail, and all others of its look-up with it.
        if (key.database or None) != (client.database or None):
            return False
        return client.current_transaction is None and gets_as_known(client)

    def _join(self, serialised: bytes, call: _Call, mode: bool) -> _Batch | None:
        """Add a get to the batch that is being gathered; the call that begins one leads it.

        Returns:
            The batch, None if the get is to be sent at once.
        """
        with self._lock:
            if not self._under_way:
                self._under_way.add(call)
                return None
            batch = self._gathering.get(mode)
            if batch is None or batch.has_ended:
                batch = call.batch = _Batch(call)
                self._gathering[mode] = batch
            else:
                call.batch = batch
                batch.waiting.append(call)
            batch.calls.setdefault(serialised, []).append(call)
            if len(batch.calls) == MAX_KEYS:
                del self._gathering[mode]
                batch.is_due.set()
        return batch

    def _lone(self, key: Key, call: _Call) -> Entity | None:
        try:
            return self._single(key)
        finally:
            self._end_look_up(call)

    def _look_up(self, batch: _Batch, mode: bool) -> None:
        batch.is_under_way = True
        try:
            self._under_way.add(batch.leader)
            self._withdraw(batch, mode)
            token = EAGER.set(mode)
            try:
                batch.look_up(self._client)
            finally:
                EAGER.reset(token)
        finally:
            batch.is_under_way = False
            self._end_look_up(batch.leader)

    def _end_look_up(self, call: _Call) -> None:
        """Say that the look-up of a get is over, if that was not said before."""
        if call not in self._under_way:
            return
        self._under_way.discard(call)
        with self._lock:
            if not self._under_way:
                for batch in self._gathering.values():
                    batch.is_due.set()

    def _leave(self, call: _Call, mode: bool) -> None:
        """End all that others wait for; a call that was interrupted ends it here."""
        batch = call.batch
        if batch is None:
            self._end_look_up(call)
            return
        is_leader = batch.leader is call
        if is_leader:
            # First, because a second signal may end the rest. The others find this then.
            batch.has_ended = True
            self._end_look_up(call)
            self._withdraw(batch, mode)
        # In this order: if the batch ends in between, both wake a caller, and not neither.
        call.is_abandoned = True
        if batch.has_ended:
            batch.wake_next()
        # The batch has the calls: without this, the garbage collector would have to free them.
        call.batch = None

    def _withdraw(self, batch: _Batch, mode: bool) -> None:
        """Let no more gets join a batch."""
        with self._lock:
            if self._gathering.get(mode) is batch:
                del self._gathering[mode]


def _own(error: Exception) -> Exception:
    """Return a copy of an error that several threads raise, each of which adds to its traceback."""
    kind = type(error)
    try:
        copied = kind.__new__(kind, *error.args)
    except TypeError:
        return error
    copied.__dict__.update(error.__dict__)
    copied.args = error.args
    copied.__cause__ = error.__cause__
    return copied


class _Call:
    """One get that waits for its batch.

    Attributes:
        batch: the batch that it joined.
        is_over: a lock that is released when the caller may go on.
        is_abandoned: whether the caller was interrupted and does not wait any more.
        entity: the result.
        error: raised in place of the result.
        is_alone: whether the caller has to send the get by itself.
    """

    __slots__ = ("batch", "entity", "error", "is_abandoned", "is_alone", "is_over")

    def __init__(self) -> None:
        self.batch: _Batch | None = None
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

    Args:
        leader: see below.

    Attributes:
        leader: the call whose thread makes the look-up.
        calls: by serialised key, all calls that ask for the key.
        waiting: the calls of the threads that have to be woken, in the order of their coming.
        is_due: set when there is no more reason to wait for further gets.
        is_under_way: whether the look-up was sent and is not over.
        has_ended: whether the calls have their answers. Callers send the calls without an answer.
    """

    def __init__(self, leader: _Call) -> None:
        self.leader = leader
        self.calls: dict[bytes, list[_Call]] = {}
        self.waiting: deque[_Call] = deque()
        self.is_due = threading.Event()
        self.is_under_way = False
        self.has_ended = False
        self._begins_by = time.monotonic() + WAIT_SECONDS + _CHECK_SECONDS

    def look_up(self, client: datastore.Client) -> None:
        """Answer the calls, unless one of them may be the cause of an error for all."""
        found: dict[bytes, Any] = {}
        failure: Exception | None = None
        client = reading(client)
        try:
            found.update(Rpcs(client, None, None).look_up(self.calls, eventual=False))
        except Exception as error:  # noqa: BLE001  # raised by each caller
            raise_if_of_handler(error)
            if isinstance(error, BadRequest):
                # Any of the keys can be the cause. Each caller sends its own.
                return
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
                    raise_if_of_handler(error)
                    call.answer(None, error)

    def wait(self, call: _Call) -> None:
        """Wait until the batch has ended, in the thread of a caller that does not lead it."""
        while not call.is_over.acquire(timeout=_CHECK_SECONDS):
            # A leader that was interrupted may not have said so, and one that was interrupted twice
            # wakes nobody.
            if not self.is_under_way and time.monotonic() > self._begins_by:
                self.has_ended = True
            if self.has_ended:
                break

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
