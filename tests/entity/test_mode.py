"""The mode of threads and of functions that read eagerly."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from lazyentity._mode import eager, enter, is_eager, leave, reads_eagerly

pytestmark = pytest.mark.any_backend


@reads_eagerly
def _marked(called: object) -> object:
    enter(None)
    try:
        return called() if callable(called) else called
    finally:
        leave()


def test_only_what_a_marked_function_calls_is_eager() -> None:
    assert _marked(lambda: (lambda: is_eager())()) is True
    assert is_eager() is False


def test_other_threads_are_not() -> None:
    """Nor is a thread that the function itself started."""
    with ThreadPoolExecutor() as threads:
        assert _marked(lambda: threads.submit(is_eager).result()) is False
        assert _marked(lambda: threads.submit(_marked, is_eager).result()) is True


def test_a_generator_is_not_once_the_function_has_ended() -> None:
    assert list(_marked(lambda: (is_eager() for _ in range(1)))) == [False]  # type: ignore[call-overload]  # iterable


def test_after_an_error() -> None:
    def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  # of its own
        _marked(fail)
    assert is_eager() is False
    # No note is left: functions that are marked and make none are not eager.
    assert reads_eagerly(lambda: is_eager())() is False


def test_inside_eager() -> None:
    with eager():
        assert _marked(is_eager) is True
        assert is_eager() is True
