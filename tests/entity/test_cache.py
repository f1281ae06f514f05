"""What is known of property names does not pile up."""

from __future__ import annotations

import threading

import pytest

from lazyentity.codec.cache import NamesCache


def test_the_first_value_stays() -> None:
    """Threads that learn the same at once end up with one."""
    cache = NamesCache[bytes, list[str]](max_names=10)
    first = cache.add(b"a", ["a"], 1)
    assert cache.add(b"a", ["a"], 1) is first
    assert cache.get(b"a") is first
    assert len(cache) == 1


def test_a_value_that_is_replaced() -> None:
    """Takes the room of the one before it, no more."""
    cache = NamesCache[str, int](max_names=10)
    cache.add("other", 0, 3)
    for number in range(20):
        cache.replace("key", number, 7)
        assert cache.get("key") == number
    assert cache.get("other") == 0
    assert len(cache) == 2


def test_a_value_that_is_replaced_by_one_too_large() -> None:
    """Is gone all the same: it is not what is known any more."""
    cache = NamesCache[str, int](max_names=10)
    cache.add("key", 1, 3)
    cache.replace("key", 2, 11)
    assert cache.get("key") is None
    cache.add("other", 3, 10)
    assert cache.get("other") == 3


@pytest.mark.parametrize("replaces", [False, True])
def test_ever_new_names_do_not_grow_it(*, replaces: bool) -> None:
    """All values together never have more names than the cache was given; the oldest make room."""
    cache = NamesCache[int, int](max_names=100)
    for number in range(1000):
        names = number % 7
        if replaces:
            cache.replace(number, names, names)
        else:
            cache.add(number, names, names)
        kept = [cache.get(earlier) for earlier in range(number + 1)]
        assert sum(max(1, names) for names in kept if names is not None) <= 100
        assert kept[-1] is not None
        oldest = next(at for at, names in enumerate(kept) if names is not None)
        assert None not in kept[oldest:]


def test_one_too_large_is_not_kept() -> None:
    """A value that fills the cache alone pushes nobody out."""
    cache = NamesCache[bytes, str](max_names=10)
    cache.add(b"small", "small", 1)
    assert cache.add(b"large", "large", 11) == "large"
    assert cache.get(b"large") is None
    assert cache.get(b"small") == "small"


@pytest.mark.parametrize("names", [0, 1, 10])
def test_one_that_just_fits_is_kept(names: int) -> None:
    """The bound itself is still within it, and a value without names counts as one with one."""
    cache = NamesCache[bytes, str](max_names=10)
    cache.add(b"key", "value", names)
    assert cache.get(b"key") == "value"


def test_threads() -> None:
    """The bound holds, and nothing is counted twice."""
    cache = NamesCache[int, int](max_names=50)

    def learn(first: int) -> None:
        for number in range(first, first + 2000):
            cache.add(number % 70, number, number % 5)
            cache.replace(number % 30, number, number % 7)

    threads = [threading.Thread(target=learn, args=(first,)) for first in range(0, 40, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # What is there makes room for one that needs all of it.
    cache.add(1000, 0, 50)
    assert len(cache) == 1
    assert cache.get(1000) == 0
