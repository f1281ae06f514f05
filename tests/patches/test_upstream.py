"""One answer to whether a function is still the client's own; a module of Python is the client."""

from __future__ import annotations

import fractions
import functools
import json
from fractions import Fraction
from typing import Any

import pytest
import wrapt

from lazyentity.patches.upstream import UpstreamModules, function_of, is_upstream

_method: Any = Fraction.limit_denominator


@functools.wraps(_method)
def _wrapper(*args: Any) -> Any:
    return _method(*args)


def _through(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


OWN = {
    "function": _method,
    "method": Fraction(1).limit_denominator,
    "bound class method": Fraction.from_float,
    "class method": vars(Fraction)["from_float"],
    "static method": staticmethod(_method),
    "property": Fraction.numerator,
}
FOREIGN = {
    "nothing": None,
    "other module": json.dumps,
    "wrapper": _wrapper,
    "wrapper that equals it": wrapt.FunctionWrapper(_method, _through),
    "wrapper of a class method": wrapt.FunctionWrapper(Fraction.from_float, _through),
    "class method of others": classmethod(_wrapper),
    "property of others": property(_wrapper),
    "compiled": len,
    "callable object": functools.partial(_method),
}


@pytest.mark.parametrize("kind", OWN)
def test_own_functions(kind: str) -> None:
    """Methods and properties have the functions that the module defines."""
    found = OWN[kind]
    assert is_upstream(found, json, fractions)
    assert is_upstream(found, function_of(found))
    assert is_upstream(found, object(), function_of(found))
    assert not is_upstream(found)
    assert not is_upstream(found, json)
    assert not is_upstream(found, _wrapper, None)


@pytest.mark.parametrize("kind", FOREIGN)
def test_functions_of_others(kind: str) -> None:
    """Wrappers are not the client's own, even if they equal its function."""
    assert not is_upstream(FOREIGN[kind], fractions)
    assert not is_upstream(FOREIGN[kind], fractions, _method, Fraction.from_float, None)


class Changed(Fraction):
    """A subclass that overrides one method."""

    def limit_denominator(self, max_denominator: int = 1) -> Fraction:
        return self


CLIENT = UpstreamModules(fractions)


def test_functions_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replaced function has no equal; one of ``object`` cannot be replaced."""
    assert CLIENT.upstream_function(Fraction, "limit_denominator") is _method
    assert CLIENT.upstream_function(Fraction, "from_float") is function_of(Fraction.from_float)
    assert CLIENT.upstream_function(Fraction, "__init__") is object.__init__
    assert CLIENT.upstream_functions("limit_denominator", Fraction, Changed) > {_method}
    monkeypatch.setattr(Fraction, "limit_denominator", _wrapper)
    monkeypatch.setattr(Fraction, "__init__", _wrapper, raising=False)
    for name in ("limit_denominator", "__init__"):
        found = CLIENT.upstream_function(Fraction, name)
        assert type(found) is object
        assert not is_upstream(vars(Fraction)[name], found)


def test_methods_of_a_class_and_of_an_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subclasses, attributes of instances and replacements count."""

    class Plain(Fraction):
        """Has the client's methods, and instances with a dict."""

    methods = CLIENT.methods(Fraction, "limit_denominator", "__repr__")
    plain: Any = Plain(1, 2)
    assert methods.are_upstream(Fraction)
    assert methods.are_upstream(Plain)
    assert methods.are_upstream(plain)
    assert not methods.are_upstream(Changed)
    assert not methods.are_upstream(Changed(1, 2))
    plain.limit_denominator = plain.limit_denominator
    assert not methods.are_upstream(plain)
    del plain.limit_denominator
    assert methods.are_upstream(plain)
    monkeypatch.setattr(Plain, "__getattribute__", lambda self, name: 1)
    assert not methods.are_upstream(Plain)
    monkeypatch.setattr(Fraction, "limit_denominator", _wrapper)
    assert not methods.are_upstream(Fraction)
