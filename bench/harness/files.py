"""Reading and writing results files, of whatever contents."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

_Contents = TypeVar("_Contents")


class ResultsError(Exception):
    """A results file cannot be read or written; the text says which and why."""


def now() -> str:
    """The date of a run that ends now, in ISO 8601."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def load(path: Path, contents: type[_Contents], schema: int) -> _Contents:
    """Read a results file.

    Args:
        path: of the file.
        contents: the dataclass that it holds, which constrains its ``schema``.
        schema: the number of that schema, for errors.

    Raises:
        ResultsError: it cannot be read, or holds something else.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=contents)
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ResultsError(f"{path} is no results file of schema {schema}: {error}") from error


def dump(contents: object) -> str:
    """The text of a results file, the same for the same contents."""
    return msgspec.json.encode(contents).decode() + "\n"


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    """Check before a long measurement that its results can be written to ``path``.

    The contents of a file stay. A file that did not exist is made, and removed again when the block
    raises.

    Raises:
        ResultsError: it cannot be opened for writing.
    """
    existed = path.exists()
    try:
        path.open("a", encoding="utf-8").close()
    except FileNotFoundError as error:
        raise ResultsError(f"cannot write {path}: there is no folder {path.parent}") from error
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}") from error
    try:
        yield
    except BaseException:
        if not existed:
            path.unlink()
        raise


def write(path: Path, text: str) -> None:
    """Put ``text`` in place of all that the file held.

    Raises:
        ResultsError: it cannot be written, a full disk for one.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}") from error
