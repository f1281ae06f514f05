"""The error of a bulk call of which a part failed."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec.describing import safe_repr, safe_str
from lazyentity.codec.interruptions import raise_if_of_handler


class BulkError(Exception):
    """Some keys of a bulk call failed; the others did not.

    Args:
        failed: see below; not empty.
        done: see below.
        count: see below.

    Attributes:
        failed: the error of each key that failed. Keys that failed in one request share an error. A
            write that failed may have reached the server. A key that was written several times is
            here if one of these writes failed, and then not in ``done``.
        done: the results that the call could not return because of this error. ``get_many()``: the
            entities that were read, None where there is none. ``put_many()``: the entities that
            were written. ``delete_many()``: None for each deleted key. Writes of an iterator leave
            ``done`` empty, because it would grow with the iterator.
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

    def __copy__(self) -> BulkError:
        return type(self)(self.failed, self.done, self.count)

    def __reduce__(self) -> tuple[object, ...]:
        # Keys that failed in one request share an error after this, too. Pickling an error can run
        # any code, and the dicts are public.
        errors, done = self.failed.copy(), self.done.copy()
        portable = {id(error): _portable(error) for error in errors.values()}
        failed = {key: portable[id(error)] for key, error in errors.items()}
        return _restored, (type(self), failed, done, self.count)


class _Retried(NamedTuple):
    """A ``RetryError``, whose pickles some versions of google-api-core cannot load.

    Attributes:
        message: its text, without the cause.
        cause: the last error, or None.
    """

    message: str
    cause: Exception | None


def _restored(
    kind: type[BulkError],
    failed: Mapping[Key, Exception | _Retried],
    done: Mapping[Key, Entity | None],
    count: int,
) -> BulkError:
    made: dict[int, Any] = {id(error): error for error in failed.values()}
    for at, error in made.items():
        if isinstance(error, _Retried):
            made[at] = RetryError(error.message, error.cause)
    return kind({key: made[id(error)] for key, error in failed.items()}, done, count)


def _portable(error: Exception) -> Exception | _Retried:
    """Return what can be pickled of an error: itself, one of its class, or one with its text."""
    if isinstance(error, RetryError):
        cause = error.cause
        return _Retried(error.message, _of_call(cause) if isinstance(cause, Exception) else None)
    return _of_call(error)


def _of_call(error: Exception) -> Exception:
    if _is_picklable(error):
        return error
    if isinstance(error, GoogleAPICallError):
        # Without the call of gRPC, which has locks.
        made = type(error)(error.message, details=error.details)
        if _is_picklable(made):
            return made
    return RuntimeError(f"{type(error).__name__}: {safe_str(error)}")


def _is_picklable(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # made here
    except Exception as refusal:  # noqa: BLE001  # of any class
        raise_if_of_handler(refusal)
        return False
    return True
