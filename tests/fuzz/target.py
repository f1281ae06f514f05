"""The libFuzzer target: any bytes are read as an entity and as a response, natively.

Takes libFuzzer's options and folders; ``tools/fuzz`` gives both, and the sanitizers' runtime.
"""

from __future__ import annotations

import ctypes
import random
import sys

import atheris  # type: ignore[import-untyped]  # in the environment of tools/fuzz only

import lazyentity
from tests.fuzz.checks import check
from tests.fuzz.mutation import mutated

_poison = ctypes.CDLL(None).__asan_poison_memory_region
_poison.argtypes = (ctypes.c_void_p, ctypes.c_size_t)

# CPython ends every bytes object with a NUL, which may be read but is not data.
_TERMINATOR_OFFSET = bytes.__basicsize__ - 1
# The whole process shares shorter bytes objects.
_SHORTEST_OWNED = 2


def _guard(raw: bytes) -> None:
    """Make AddressSanitizer report a read of the first byte behind ``raw``.

    The allocator must be malloc (``PYTHONMALLOC``): only then does an allocation end there.
    """
    if len(raw) >= _SHORTEST_OWNED:
        _poison(id(raw) + _TERMINATOR_OFFSET + len(raw), 1)


def run_one(raw: bytes) -> None:
    """Check one input."""
    _guard(raw)
    check(raw)


def _mutate(raw: bytes, max_size: int) -> bytes:
    return bytes(atheris.Mutate(raw, max_size))


def _mutated(raw: bytes, max_size: int, seed: int) -> bytes:
    """Return ``raw`` with one change; libFuzzer's interface for custom mutators."""
    return mutated(raw, max_size, random.Random(seed), _mutate)


def main() -> None:
    """Fuzz with the options on the command line; does not return."""
    if lazyentity.backend != "native":
        raise SystemExit("the native backend is not built")
    atheris.Setup(sys.argv, run_one, custom_mutator=_mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
