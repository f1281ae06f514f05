"""Calls everything that a class of the native backend has with arguments that it is not made for.

Run as ``python -m tests.backends.hostile_program``. Every exception is fine; it prints the number
of calls. The fuzzer of :mod:`tests.fuzz.calls` makes such calls in any order.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import gc
import itertools
import json
import operator
import pickle
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.backends.backends import NATIVE
from tests.fuzz import hostile
from tests.fuzz.calls_child import ATTRIBUTES, CLASSES, MAKERS
from tests.support.strategies.samples import PLAIN

# These end the process, or the interpreter's own things, as documented.
_LEFT_OUT = {"__class__", "__init_subclass__", "__subclasshook__", "__dir__", "__doc__"}


def _instances(kind: Any) -> Iterator[Any]:
    """Half-made instances, instances of subclasses, and complete ones."""
    bodies: tuple[dict[str, Any], ...] = (
        *({}, {"__slots__": ()}, {"__new__": lambda cls, *_: kind.__new__(cls)}),
    )
    chance = random.Random(1)
    makers: list[Callable[[], Any]] = [
        lambda: kind.__new__(kind),
        kind,
        lambda: copy.copy(kind.__new__(kind)),
        *(lambda body=body: type("Subclass", (kind,), body)() for body in bodies),
        *(partial(make, chance) for make in MAKERS),
    ]
    for make in makers:
        # Not every class can be subclassed, or made without arguments.
        with contextlib.suppress(Exception):
            made = make()
            if isinstance(made, kind):
                yield made


def _calls(instance: Any, kind: Any, arguments: list[Any]) -> Iterator[Callable[[], object]]:
    for name in sorted({*ATTRIBUTES[kind]} - _LEFT_OUT):
        yield partial(getattr, instance, name)
        for argument in arguments:
            yield partial(setattr, instance, name, argument)
        given: Iterator[tuple[Any, ...]] = itertools.chain(
            [()],
            ((one,) for one in arguments),
            # Every argument with its neighbour, for the time that it takes.
            zip(arguments, arguments[1:] + arguments[:1], strict=True),
            ((one, one, one) for one in arguments),
        )
        for positional in given:
            yield partial(_call, instance, name, positional)
            # Also without an instance: then the first argument, of any type, takes its place.
            yield partial(_call, kind, name, positional)
        yield partial(delattr, instance, name)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield lambda protocol=protocol: pickle.loads(pickle.dumps(instance, protocol))  # type: ignore[misc]  # bound here
    yield partial(copy.deepcopy, instance)
    yield partial(repr, instance)
    yield partial(dict, instance)
    yield partial(operator.eq, instance, instance)


def _call(owner: Any, name: str, arguments: tuple[Any, ...]) -> object:
    return getattr(owner, name)(*arguments)


def _argument(make: Callable[[random.Random], Any], chance: random.Random) -> Any:
    hostile.Evil.start([], chance)
    return make(chance)


def main(kind: Any) -> int:
    """Make the calls of a class."""
    chance = random.Random(1)
    made = 0
    for instance in list(_instances(kind)):
        arguments = [kind, NATIVE.from_bytes(PLAIN)]
        arguments += [_argument(make, chance) for make in hostile.VALUES]
        for call in _calls(instance, kind, arguments):
            # The arguments may do only so much in each call.
            hostile.Evil.start([instance], chance)
            with contextlib.suppress(Exception):
                call()
            made += 1
    # Damage may only show now.
    gc.collect()
    assert NATIVE.from_bytes(PLAIN)["text"] == "Grüße"
    return made


if __name__ == "__main__":
    faulthandler.enable()
    print(json.dumps(sum(map(main, CLASSES))))  # noqa: T201  # the result
