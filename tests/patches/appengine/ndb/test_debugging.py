"""The texts that ndb makes for debugging, the contexts of requests and keys are ndb's own."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from google.appengine.api import datastore, datastore_types
from google.appengine.ext import ndb
from google.appengine.ext.ndb import model, tasklets, utils

from tests.patches.appengine.ndb.sides import logged
from tests.patches.appengine.services import fresh, lazily
from tests.support import hostile
from tests.support.snapshots import Raised, outcome

pytestmark = pytest.mark.usefixtures("bed")

Mode = Callable[[], AbstractContextManager[None]]
MODES: dict[str, Mode] = {"lazy": lazily, "eager": partial(lazily, eager=True)}


@pytest.fixture(params=MODES.values(), ids=list(MODES))
def mode(request: pytest.FixtureRequest) -> Any:
    """How ndb is patched."""
    assert utils.DEBUG
    return request.param


@pytest.fixture
def patched(mode: Mode) -> Iterator[None]:
    """Lazy or eager reads."""
    with mode():
        yield


def is_text(text: Any) -> bool:
    """Say whether a text does all that texts do."""
    return type(text) is str and text + "" == text and json.loads(json.dumps(text)) == text


def is_stack(stack: Any) -> bool:
    """Say whether a stack does all that lists of texts do."""
    return (
        type(stack) is list
        and len(stack) > 0
        and all(map(is_text, [*stack, stack[0], stack[-1]]))
        and json.loads(json.dumps(stack)) == [*stack]
    )


def _stock(function: Any) -> Any:
    return function.__wrapped__


@pytest.mark.usefixtures("patched")
def test_stacks() -> None:
    """Of functions with and without a mark, as long as asked for."""

    def marked(mark: Any, limit: int) -> Any:
        __ndb_debug__ = mark  # noqa: F841  # ndb reads it
        return utils.get_stack(limit), _stock(utils.get_stack)(limit)

    for _ in range(2):
        for mark in ("SKIP", "a mark", 5, None):
            for limit in (1, 3, 10, 1000):
                ours, stock = marked(mark, limit)
                assert is_stack(ours)
                assert ours == stock
        ours, stock = utils.get_stack(), _stock(utils.get_stack)()
        assert ours == stock
        assert utils.get_stack(0) == []


@pytest.mark.usefixtures("patched")
def test_without_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "DEBUG", False)
    assert utils.get_stack() == ()


@pytest.mark.usefixtures("patched")
def test_futures() -> None:
    """All texts that a future has, of a tasklet, a look-up and the calls that they wait for."""

    @ndb.tasklet
    def wait() -> Any:
        yield ndb.Key("Any", 1).get_async()
        yield ndb.Key("Any", 2).get_async(), model.Model(id=1).put_async()

    ctx = fresh()
    futures: list[Any] = [wait(), ctx.get(ndb.Key("Any", 3))]
    futures.append(ctx._memcache_get_batcher.add("key", (False, "", None)))
    loop = ndb.eventloop.get_event_loop()
    seen = set()
    while loop.run1():
        for future in futures:
            waiting = future
            while waiting is not None:
                assert is_stack(waiting._where)
                for text in (waiting._info, waiting._geninfo):
                    assert text is None or is_text(text)
                    seen.add(None if text is None else text.partition("(")[0])
                assert is_text(waiting.dump())
                waiting = waiting._next
    assert {"suspended generator wait", "tasklet wait", "tasklet get"} <= seen
    assert any(text.startswith("AutoBatcher") for text in seen if text is not None)


def test_texts(mode: Mode) -> None:
    """Futures and tasklets that fail are described as by stock ndb."""

    @ndb.tasklet
    def fail() -> Any:
        yield ndb.Key("Any", 1).get_async()
        raise ValueError("failed")

    def described() -> Any:
        futures = fresh()._memcache_get_batcher.add("key", (False, "", None)), fail()
        pending = (ndb.Key("Any", 1).get_async(), futures[0])
        # The innermost functions are not ndb's.
        shown = [repr(future).partition(" for ")[2] for future in pending]
        dumped = [future.dump().splitlines()[2:] for future in pending]
        with logged() as texts:
            outcome(futures[1].get_result)
        return shown, dumped, texts

    seen = []
    for side in (nullcontext, mode):
        # In one line: the texts have it.
        with side():
            seen.append(described())
    assert seen[0][2]
    assert seen[1] == seen[0]


def test_of_a_call(mode: Mode) -> None:
    """The text is stock's, also if somebody looks at it when ndb is no longer patched."""

    def calls() -> list[Any]:
        ctx = fresh()
        return [
            ctx._get_batcher.add(ndb.Key("Any", 1), None),
            ctx._put_batcher.add(model.Model(id=1), None),
            ctx._memcache_set_batcher.add(("key", b"value"), ("set", 0, "", None)),
        ]

    stock = calls()
    with mode():
        ours = calls()
        assert list(map(type, ours)) == list(map(type, stock)) == [tasklets.Future] * 3
        assert ours[1]._info.partition(".add")[2] == stock[1]._info.partition(".add")[2]
    for our, other in zip(ours, stock, strict=True):
        assert is_text(our._info)
        assert our._info is our._info
        assert our._info.partition(".add")[1:] == other._info.partition(".add")[1:]
        our._info = "another"
        assert repr(our).partition(" for ")[2] == "another; pending>"


def test_a_future_without_a_text(mode: Mode) -> None:
    """It raises as in stock, and so does the class."""

    def looked_at() -> Any:
        future = tasklets.Future()
        del future._info
        return outcome(lambda: future._info), outcome(lambda: tasklets.Future._info)

    stock = looked_at()
    with mode():
        assert looked_at() == stock
    assert looked_at() == stock


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("sort", hostile.VALUES)
def test_a_call_of_anything(sort: str) -> None:
    """A text that cannot be made takes the place of no error and of no result."""
    value = hostile.VALUES[sort]()
    future = fresh()._memcache_set_batcher.add(("key", value), ("set", 0, "", None))
    future.set_exception(ValueError("the error"))
    assert is_text(future._info)
    assert "the error" in repr(future)
    with pytest.raises(ValueError, match="the error"):
        future.get_result()


class Parsed(ndb.Model):
    document = ndb.JsonProperty()
    count = ndb.IntegerProperty()


MALFORMED = b"{not JSON"


def _put_again() -> tuple[Any, bytes, int]:
    """Put a model whose document cannot be parsed; return the outcome and the stored values."""
    stored = datastore.Entity("Parsed", id=1)
    stored.update({"document": datastore_types.Blob(MALFORMED), "count": 1})
    datastore.Put(stored)
    fresh()
    found = Parsed.get_by_id(1, use_memcache=False)
    found.count = 2
    result = outcome(found.put)
    stored = datastore.Get(stored.key())
    return result, stored["document"], stored["count"]


def test_put_of_a_value_that_cannot_be_converted(
    mode: Mode,
) -> None:
    """It succeeds with the bytes that came. Stock raises: its text of the call shows the model."""
    stock, *stored = _put_again()
    assert isinstance(stock, Raised)
    assert stock.kind is json.JSONDecodeError
    assert stored == [MALFORMED, 1]
    with mode():
        assert _put_again() == (ndb.Key("Parsed", 1), MALFORMED, 2)


@pytest.mark.parametrize("side", [nullcontext, lazily])
@pytest.mark.parametrize("ends", ["variable", "empty", "mapping"])
def test_a_request_has_its_own(side: Mode, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says when a request has begun."""
    variable = tasklets._CONTEXT_KEY
    with side():
        found = tasklets.get_context()
        assert tasklets.get_context() is found
        if ends == "variable":
            monkeypatch.delenv(variable)
        elif ends == "empty":
            monkeypatch.setenv(variable, "")
        else:
            others = {name: value for name, value in os.environ.items() if name != variable}
            monkeypatch.setattr(os, "environ", others)
        following = tasklets.get_context()
        assert following is not found
        assert tasklets.get_context() is following


def _outcomes(module: Any) -> dict[str, str]:
    """Run the tests; return the errors by test, the empty text for a test that passes."""
    outcomes = {}
    suites: Any = unittest.defaultTestLoader.loadTestsFromModule(module)
    for test in itertools.chain(*suites):
        result = unittest.TestResult()
        with warnings.catch_warnings():
            # For methods that Python has deprecated.
            warnings.simplefilter("ignore")
            test.run(result)
        errors = [text.splitlines()[-1] for _, text in [*result.errors, *result.failures]]
        outcomes[test.id()] = "\n".join(errors)
    return outcomes


def test_the_tests_that_ndb_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of its keys. They want absl's ``TestCase``, but unittest's is enough."""
    testing: Any = ModuleType("absl.testing")
    testing.absltest = unittest
    monkeypatch.setitem(sys.modules, "absl", ModuleType("absl"))
    monkeypatch.setitem(sys.modules, "absl.testing", testing)
    # Each takes the classes away that ndb knows by their kinds.
    with mock.patch.dict(model.Model._kind_map):
        shipped = importlib.import_module("google.appengine.ext.ndb.key_test")
        stock = _outcomes(shipped)
        with lazily():
            assert _outcomes(shipped) == stock
    assert list(stock.values()).count("") > 30
