"""Documents in any bytes: the native backend gives what the pure one gives, or leaves it."""

from __future__ import annotations

import random

import pytest

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.native import documents as native
from tests.backends.documents import (
    _READERS,
    READ_TIME,
    RESPONSE,
    SAMPLE,
    assert_same_document,
)
from tests.support.concurrency import together

pytestmark = pytest.mark.any_backend


def test_the_sample_is_decoded() -> None:
    """Otherwise the tests below would compare nothing."""
    made = native.DocumentBytes.of(SAMPLE, READ_TIME, RESPONSE)
    fields = made.decoded_fields(_READERS[0], None)
    assert fields is not UNDECODED
    assert fields["a"] == {"a": {"é": "text ä"}, "b": [0.0]}
    assert made.decoded_value(_READERS[0], None, ("a", "a", "é")) == "text ä"
    assert_same_document(SAMPLE)


def test_cut_off() -> None:
    for end in range(len(SAMPLE)):
        assert_same_document(SAMPLE[:end])


@pytest.mark.parametrize("number", range(4))
def test_damaged(number: int) -> None:
    """One to three bytes changed, left out or added."""
    chance = random.Random(number)
    for _ in range(1500):
        raw = bytearray(SAMPLE)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(raw))
            match chance.randrange(3):
                case 0:
                    raw[at] = chance.randrange(256)
                case 1:
                    del raw[at]
                case _:
                    raw.insert(at, chance.randrange(256))
        assert_same_document(bytes(raw))


def test_threads_decode_the_same_bytes(frequent_switches: None) -> None:
    made = native.DocumentBytes.of(SAMPLE, READ_TIME, RESPONSE)
    expected = made.decoded_fields(_READERS[0], None)

    def work(number: int) -> object:
        found = [made.decoded_fields(_READERS[0], None) for _ in range(200)]
        assert all(each == expected for each in found)
        return made.decoded_value(_READERS[0], None, ("a", "b"))

    assert together(3, work) == [[0.0]] * 3
