"""Single gets of many threads, joined into one look-up."""

from __future__ import annotations

import threading
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
"""How long a get waits for others, unless the look-up before it ends earlier."""


def coalesce(client: datastore.Client) -> Coalesced:
    """Return a proxy of a client that joins single gets of several threads into one look-up.

    A get that is alone is sent at once. A get that comes while a look-up of another one is under
    way waits for it to end, for 2 milliseconds or for 1,000 keys, and then goes together with all
    that came in the meantime.

    Args:
        client: patched, wrapped or stock; its own connection is used.
    """
    return Coalesced(client)


class Coalesced:
    """A proxy of a client; everything but :meth:`get` is the client's own.

    Any thread may use it. It has no threads of its own, and nothing to close.

    Args:
        client: as for :func:`coalesce`.
    """

    def __init__(self, client: datastore.Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._under_way = 0
        # Gets inside eager() are apart: the mode is that of the look-up.
        self._gathering: dict[bool, _Batch] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "_client" or name.startswith("__"):
            # Of a copy that is being made: it has no client yet, and clients refuse to be copied.
            raise AttributeError(name)
        return getattr(self._client, name)

    def get(self, key: Key, *arguments: Any, **options: Any) -> Entity | None:
        """Read one entity, as ``client.get()``; each caller gets an entity object of its own.

        A get with options, inside a transaction, or with a key that cannot be looked up is the
        client's own. Look-ups of several gets are retried as those of
        :func:`~lazyentity.bulk.get_many`.

        Args:
            key: the key of the entity.
            *arguments: further ones of ``client.get()``.
            **options: those of ``client.get()``.

        Returns:
            The entity, None if there is none.

        Raises:
            As ``client.get()``, for this key alone.
        """
        if arguments or options or not self._is_suitable(key):
            return self._single(key, *arguments, **options)
        mode = is_eager()
        with self._lock:
            if not self._under_way:
                self._under_way += 1
                batch = None
            else:
                batch, call, is_leader = self._join(key, mode)
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
                # A signal handler may raise in this thread, and others wait for it.
                self._withdraw(batch, mode)
                batch.end()
        else:
            call.is_over.acquire()
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

    def _join(self, key: Key, mode: bool) -> tuple[_Batch, _Call, bool]:
        """Add a key to the batch that is being gathered; the thread that begins one leads it."""
        serialised = serialised_key(key)
        batch = self._gathering.get(mode)
        is_leader = batch is None
        if batch is None:
            batch = self._gathering[mode] = _Batch()
        call = batch.add(serialised)
        if len(batch.calls) == MAX_KEYS:
            del self._gathering[mode]
            batch.is_due.set()
        return batch, call, is_leader

    def _end_look_up(self) -> None:
        with self._lock:
            self._under_way -= 1
            for batch in self._gathering.values():
                batch.is_due.set()

    def _look_up(self, batch: _Batch, mode: bool) -> None:
        with self._lock:
            self._under_way += 1
        self._withdraw(batch, mode)
        token = EAGER.set(mode)
        try:
            batch.look_up(self._client)
        finally:
            EAGER.reset(token)
            self._end_look_up()

    def _withdraw(self, batch: _Batch, mode: bool) -> None:
        """Let no more gets join a batch."""
        with self._lock:
            if self._gathering.get(mode) is batch:
                del self._gathering[mode]


class _Call:
    """One get that waits for its batch.

    Attributes:
        is_over: a lock that is released once the rest is set.
        entity: the result.
        error: raised in place of it.
        is_alone: whether the caller has to send the get by itself.
    """

    __slots__ = ("entity", "error", "is_alone", "is_over")

    def __init__(self) -> None:
        self.entity: Entity | None = None
        self.error: Exception | None = None
        self.is_alone = True
        # A lock takes a fifth of the time of an Event.
        self.is_over = threading.Lock()
        self.is_over.acquire()

    def answer(self, entity: Entity | None, error: Exception | None = None) -> None:
        self.entity, self.error, self.is_alone = entity, error, False


class _Batch:
    """Gets that go together.

    Attributes:
        calls: by serialised key, all that ask for it.
        is_due: set when there is no more reason to wait for others.
    """

    def __init__(self) -> None:
        self.calls: dict[bytes, list[_Call]] = {}
        self.is_due = threading.Event()

    def add(self, serialised: bytes) -> _Call:
        call = _Call()
        self.calls.setdefault(serialised, []).append(call)
        return call

    def look_up(self, client: datastore.Client) -> None:
        """Answer the calls, except if one of them may be to blame for an error of all."""
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

    def end(self) -> None:
        """Let the callers go on. Those without an answer send their gets by themselves."""
        for calls in self.calls.values():
            for call in calls:
                call.is_over.release()
