"""Reading the keys of an iterator, in look-ups ahead of the caller."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.bulk.errors import BulkError
from lazyentity.bulk.windows import Window
from lazyentity.codec.interruptions import raise_if_of_handler

if TYPE_CHECKING:
    from lazyentity.bulk.reading import Lookups


class Answer(NamedTuple):
    """The result of a look-up: each serialised key is in one of the two dicts."""

    entities: dict[bytes, Entity | None]
    errors: dict[bytes, Exception]


def bulk_error(asked: dict[bytes, Key], answer: Answer, count: int) -> BulkError:
    """Return the error of a look-up.

    Args:
        asked: the keys, by their serialised forms.
        answer: has errors.
        count: how many keys of the call succeeded so far.
    """
    return BulkError(
        {asked[serialised]: error for serialised, error in answer.errors.items()},
        {asked[serialised]: entity for serialised, entity in answer.entities.items()},
        count,
    )


_Done = TypeVar("_Done")


class _Chunk:
    """Keys of an iterator that are looked up together.

    Args:
        keys: see below.
        error: see below.

    Attributes:
        keys: those that were taken.
        is_complete: whether no more are to be taken. Then the keys are in ``order``.
        order: the keys, serialised.
        asked: each key once.
        answer: the result of the look-up, None before it is there.
        error: raised after the entities: by the iterator, or for a key that is refused.
    """

    __slots__ = ("answer", "asked", "error", "is_complete", "keys", "order")

    def __init__(self, keys: list[Key], error: Exception | None) -> None:
        self.keys = keys
        self.error = error
        self.is_complete = False
        self.order: list[bytes] = []
        self.asked: dict[bytes, Key] = {}
        self.answer: Answer | None = None


class Stream:
    """An iterator of the entities of an iterator of keys. It goes on after an exception.

    A signal handler may raise anywhere. CPython runs handlers when a call returns, a function
    begins or a loop jumps back, and not between assignments. So a step first makes its results, and
    then assigns them without a call in between: it can be repeated, or it is done.

    Args:
        lookups: makes the look-ups.
        keys: as the caller gave them.
        concurrency: how many look-ups run at a time.
        max_keys: of a look-up.

    Raises:
        ValueError: if ``concurrency`` is less than 1.
    """

    def __init__(
        self, lookups: Lookups, keys: Iterator[Key], concurrency: int, max_keys: int
    ) -> None:
        self._lookups = lookups
        self._max_keys = max_keys
        self._keys = keys
        self._concurrency = concurrency
        # None after an exception: look-ups under way were cancelled, and are sent again.
        self._window: Window[Answer] | None = Window(concurrency)
        self._chunks: deque[_Chunk] = deque()
        self._has_ended = False
        self._ready: deque[Entity | None] = deque()
        self._error: Exception | None = None
        self._count = 0

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Entity | None:
        while not self._ready:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._window is not None:
                self._window.require_threads()
            first = self._attempt(self._look_up)
            if first is None:
                raise StopIteration
            self._hand_out(*first)
            # Further requests are sent before the caller works on these.
            self._attempt(self._fill)
        entity = self._ready[0]
        # Not popleft(): a handler that runs when it returns would lose the entity.
        del self._ready[0]
        return entity

    def __del__(self) -> None:
        # There is none if the constructor raised.
        window = getattr(self, "_window", None)
        if window is not None:
            window.cancel()

    def _attempt(self, step: Callable[[], _Done]) -> _Done:
        """Make a step, which can be repeated; after an exception look-ups are sent again."""
        try:
            return step()
        except BaseException:
            window, self._window = self._window, None
            if window is not None:
                window.cancel_surely()
            raise

    def _look_up(self) -> tuple[_Chunk, Answer] | None:
        """Wait for the first look-up; return None if there is none."""
        window = self._fill()
        if not self._chunks:
            return None
        chunk = self._chunks[0]
        if chunk.answer is None:
            chunk.answer = window.take() if chunk.asked else Answer({}, {})
        return chunk, chunk.answer

    def _hand_out(self, chunk: _Chunk, answer: Answer) -> None:
        """Make the entities of the first look-up ready.

        Raises:
            BulkError: in place of them, if it failed.
        """
        entities, errors = answer
        count = self._count + len(entities)
        if errors:
            error = bulk_error(chunk.asked, answer, count)
            cause = next(iter(errors.values()))
            self._count = count
            self._error = chunk.error
            del self._chunks[0]
            raise error from cause
        ready = deque([entities[serialised] for serialised in chunk.order])
        self._count = count
        self._error = chunk.error
        self._ready = ready
        del self._chunks[0]

    def _fill(self) -> Window[Answer]:
        """Send as many look-ups as may run at a time, and return their window."""
        window = self._window
        if window is None:
            window = self._window = Window(self._concurrency)
            for chunk in self._chunks:
                if chunk.asked and chunk.answer is None:
                    self._submit(window, chunk)
        while not window.is_full:
            complete = [chunk for chunk in self._chunks if chunk.is_complete]
            if self._error is not None or any(chunk.error is not None for chunk in complete):
                # No keys are read past an error before it is raised.
                return window
            if len(complete) == len(self._chunks):
                if self._has_ended:
                    return window
                self._chunks.append(_Chunk([], None))
            chunk = self._chunks[-1]
            self._lookups.refuse_in_transaction()
            self._take_keys(chunk)
            # The iterator may have begun one around the keys.
            self._lookups.refuse_in_transaction()
            self._serialise(chunk)
            if chunk.asked:
                self._submit(window, chunk)
        return window

    def _take_keys(self, chunk: _Chunk) -> None:
        if chunk.error is not None or self._has_ended:
            return
        left = self._max_keys - len(chunk.keys)
        try:
            # In one call: a handler that runs between two would lose the key of the first.
            chunk.keys.extend(itertools.islice(self._keys, left))
        except Exception as error:  # noqa: BLE001  # raised once the keys before it are answered
            raise_if_of_handler(error)
            chunk.error = error
        else:
            self._has_ended = len(chunk.keys) < self._max_keys

    def _serialise(self, chunk: _Chunk) -> None:
        order: list[bytes] = []
        error = chunk.error
        following: list[_Chunk] = []
        try:
            order.extend(map(self._lookups.serialised_key, chunk.keys))
        except Exception as refusal:  # noqa: BLE001  # as in _take_keys
            raise_if_of_handler(refusal)
            following = [_Chunk(chunk.keys[len(order) + 1 :], error)]
            error = refusal
        asked = dict(zip(order, chunk.keys, strict=False))
        chunk.asked = asked
        chunk.order = order
        chunk.error = error
        chunk.keys = []
        chunk.is_complete = True
        # Not extend(), which is a call.
        self._chunks += following

    def _submit(self, window: Window[Answer], chunk: _Chunk) -> None:
        window.submit(functools.partial(_answer, self._lookups, chunk.asked))


def _answer(lookups: Lookups, asked: Collection[bytes]) -> Answer:
    entities: dict[bytes, Entity | None] = {}
    errors = lookups.answer(asked, entities)
    return Answer(entities, errors)
