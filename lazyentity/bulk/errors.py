"""The error of a bulk call of which a part failed."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from google.api_core.exceptions import GoogleAPICallError
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec.describing import safe_repr, safe_str


class BulkError(Exception):
    """Some keys of a bulk call failed; the others did not.

    Attributes:
        failed: the error for each key that failed. Keys that failed in one request share an error.
            A write that failed may have reached the server. If a key was written several times and
            one of these writes failed, the key is here, and not in ``done``.
        done: the results that the call could not return because of this error. ``get_many()``: the
            entities that were read, None for a key without one. ``put_many()``: the entities that
            were written. ``delete_many()``: None for each deleted key. Writes from an iterator
            leave ``done`` empty, because it would grow with the iterator.
        count: how many keys of this call succeeded so far. For an iterator, each successful write
            counts.
    """

    def __init__(
        self, failed: Mapping[Key, Exception], done: Mapping[Key, Entity | None], count: int
    ) -> None:
        self.failed = dict(failed)
        self.done = dict(done)
        self.count = count
        key, error = next(iter(self.failed.items()))
        super().__init__(
            f"{len(failed)} keys failed and {count} succeeded; the first to fail was "
            f"{safe_repr(key)} with {type(error).__name__}: {safe_str(error)}. `failed` has the "
            "error of each, `done` the results that were not returned."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied: the dicts are public, and pickling an error can run any code.
        failed, done = self.failed.copy(), self.done.copy()
        # Keys that failed in one request share an error in the pickle, too.
        portable = {id(error): _portable(error) for error in failed.values()}
        failed = {key: portable[id(error)] for key, error in failed.items()}
        return type(self), (failed, done, self.count)


def _portable(error: Exception) -> Exception:
    """Return what can be pickled of an error: itself, one of its class, or one with its text."""
    candidates = [error]
    if isinstance(error, GoogleAPICallError):
        # Without the call of gRPC, which has locks.
        candidates.append(type(error)(error.message, details=error.details))
    for candidate in candidates:
        try:
            copied = pickle.loads(pickle.dumps(candidate))  # noqa: S301  # made here
        except (pickle.PickleError, AttributeError, RuntimeError, TypeError, ValueError):
            continue
        # The pickle of a RetryError lacks the error of the last attempt.
        if safe_str(copied) == safe_str(error):
            return candidate
    return RuntimeError(f"{type(error).__name__}: {safe_str(error)}")
