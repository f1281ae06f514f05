"""The error of a bulk call of which a part failed."""

from __future__ import annotations

from collections.abc import Mapping

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key


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
            f"{len(failed)} keys failed and {count} succeeded; the first to fail was {key!r} with "
            f"{type(error).__name__}: {error}. `failed` has the error of each, `done` the results "
            "that were not returned."
        )

    def __reduce__(self) -> tuple[type[BulkError], tuple[object, ...]]:
        return type(self), (self.failed, self.done, self.count)
