"""Failures of a command that its user can do something about: a sentence, and no traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lazyentity._choice import expected_backend


class Failure(Exception):
    """The end of a command.

    Args:
        message: one sentence, without the name of the program: what is wrong and what to do.
        status: the exit status.
    """

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def require_backend() -> None:
    """Check that the backend which the environment requests can serve.

    Raises:
        Failure: it cannot.
    """
    try:
        expected_backend()
    except ImportError as error:
        raise Failure(str(error), status=2) from error


@contextlib.contextmanager
def needing(extra: str) -> Iterator[None]:
    """Turn the failed import of another distribution's module into a failure that names the extra.

    Args:
        extra: the extra of the distribution.

    Raises:
        Failure: a module is missing.
    """
    try:
        yield
    except ImportError as error:
        missing = _missing(error)
        if missing is None:
            raise
        raise Failure(
            f"the module {missing} is not installed; install what this command needs with "
            f"`pip install 'lazyentity[{extra}]'`",
            status=2,
        ) from error


def _missing(error: ImportError) -> str | None:
    """Return the name of the module that is not installed; None if that is not the reason."""
    # A package of ours that needs an extra raises its own error, from the error of the import.
    reason: BaseException | None = error
    while reason is not None and not isinstance(reason, ModuleNotFoundError):
        reason = reason.__cause__
    name = reason.name if reason is not None else None
    if name is None or name.partition(".")[0] == __name__.partition(".")[0]:
        return None
    return name
