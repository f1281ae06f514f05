"""The tests that the installed distribution ships: those of ndb's keys."""

from __future__ import annotations

import importlib
import sys
import unittest
import warnings
from types import ModuleType
from typing import Any

import pytest
from google.appengine.ext.ndb import model

from tests.patches.appengine.services import lazily


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module. It wants absl's ``TestCase``, but of it what unittest's has, too."""
    testing: Any = ModuleType("absl.testing")
    testing.absltest = unittest
    monkeypatch.setitem(sys.modules, "absl", ModuleType("absl"))
    monkeypatch.setitem(sys.modules, "absl.testing", testing)
    # Each test takes the classes away that ndb knows by their kinds.
    kinds = dict(model.Model._kind_map)
    yield importlib.import_module("google.appengine.ext.ndb.key_test")
    model.Model._kind_map.update(kinds)


def _outcomes(module: Any) -> dict[str, str]:
    """Run the tests; return the errors by test, the empty text for a test that passes."""
    tests: Any = unittest.defaultTestLoader.loadTestsFromModule(module)
    outcomes = {}
    for suite in tests:
        for test in suite:
            result = unittest.TestResult()
            with warnings.catch_warnings():
                # For methods that Python has deprecated.
                warnings.simplefilter("ignore")
                test.run(result)
            errors = [text.splitlines()[-1] for _, text in [*result.errors, *result.failures]]
            outcomes[test.id()] = "\n".join(errors)
    return outcomes


def test_the_outcomes_are_those_of_stock(shipped: Any) -> None:
    stock = _outcomes(shipped)
    with lazily():
        lazy = _outcomes(shipped)
    assert lazy == stock
    assert list(stock.values()).count("") > 30
