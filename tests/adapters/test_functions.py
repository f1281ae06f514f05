"""A function of Python's stays the object that it is when another one takes its place."""

from __future__ import annotations

import functools
import inspect
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import pytest

from lazyentity import LazyEntity
from lazyentity._inplace import SLOTS, When
from lazyentity.patches import adapters
from lazyentity.patches.adapters.functions import FunctionReplacement, function_replacement
from tests.adapters.uses import installed
from tests.support.strategies.samples import PLAIN


class Base:
    def added(self, value: int) -> int:
        """Return a value."""
        return value + 1


class Derived(Base):
    def added(self, value: int, *, times: int = 1) -> int:
        """Return the value of the base class, several times."""
        return super().added(value) * times


def nothing() -> tuple[Any, ...]:
    return ()


def every(
    first: Any,
    second: Any = 2,
    /,
    third: Any = 3,
    *rest: Any,
    fourth: Any,
    fifth: Any = 5,
    **more: Any,
) -> tuple[Any, ...]:
    return first, second, third, rest, fourth, fifth, more


def named(*, only: Any, given: Any = ()) -> tuple[Any, ...]:
    return only, given


def _enclosed() -> Callable[..., Any]:
    before, after = 1, 2

    @functools.wraps(every)
    def inner(value: Any, zero: Any = None) -> tuple[Any, ...]:
        return after, value, before, zero

    return inner


enclosed = _enclosed()

CALLS: dict[str, tuple[Any, list[tuple[tuple[Any, ...], dict[str, Any]]]]] = {
    "nothing": (nothing, [((), {}), ((1,), {})]),
    "every": (
        every,
        [
            ((1,), {"fourth": 4}),
            ((1, 2, 3, 4, 5), {"fourth": 6, "first": 7, "other": 8}),
            ((1,), {"third": 4, "fourth": 6}),
            ((1,), {}),
            ((), {"first": 1, "fourth": 4}),
        ],
    ),
    "named": (named, [((), {"only": 1}), ((1,), {}), ((), {"only": 1, "given": 2, "x": 3})]),
    "method": (Derived.added, [((Derived(), 1), {}), ((Derived(), 1), {"times": 3}), ((1, 2), {})]),
    "enclosed": (enclosed, [((1,), {}), ((1, 2), {}), ((), {"value": 3})]),
}


def _visible(function: Any) -> Any:
    return (
        inspect.signature(function, follow_wrapped=False),
        inspect.getsource(function),
        {name: getattr(function, name) for name in functools.WRAPPER_ASSIGNMENTS},
        function.__defaults__,
        function.__kwdefaults__,
        function.__closure__,
        vars(function),
        inspect.isfunction(function),
        pickle.dumps(function) if function is not enclosed else None,
    )


def _outcome(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return str(error)


ALWAYS = When(always=True)

Install = Callable[..., FunctionReplacement]

native = pytest.mark.skipif(not SLOTS, reason="the pure backend calls the function")


@pytest.fixture
def seen() -> list[Any]:
    """The arguments that a hook has got."""
    return []


@pytest.fixture
def install(seen: list[Any]) -> Iterator[Install]:
    """Installs a hook that calls the original."""
    made = []

    def hook(original: Any, instance: None, args: Any, kwargs: Any) -> Any:
        seen.append((args, kwargs))
        return original(*args, **kwargs)

    def install(function: Any, when: When = ALWAYS) -> FunctionReplacement:
        replacement = function_replacement(function)
        assert replacement is not None
        made.append(replacement)
        replacement.install(hook, when)
        return replacement

    yield install
    for replacement in made:
        replacement.remove()


@pytest.mark.parametrize("name", CALLS)
def test_it_looks_and_works_as_before(name: str, install: Install, seen: list[Any]) -> None:
    """For each kind of parameter; a wrong call has the error of the function."""
    function, calls = CALLS[name]
    code, visible = function.__code__, _visible(function)
    expected = [_outcome(function, *call) for call in calls]
    for _ in range(2):
        replacement = install(function)
        assert _visible(function) == visible
        assert [_outcome(function, *call) for call in calls] == expected
        assert seen
        replacement.remove()
        assert function.__code__ is code
        seen.clear()


def test_those_who_hold_it_are_served(install: Install, seen: list[Any]) -> None:
    bound = Derived().added
    partial = functools.partial(every, 1, fourth=4)

    def default(function: Any = nothing) -> Any:
        return function()

    for function in (Derived.added, every, nothing):
        install(function)
    assert bound(1) == 2
    assert partial()[0] == 1
    assert default() == ()
    assert len(seen) == 3


def test_changes_by_others_stay(install: Install) -> None:
    """Of the defaults, which every call takes; of the code, which is not put back."""

    def function(value: Any = 1) -> Any:
        return value

    replacement = install(function)
    function.__defaults__ = (2,)
    assert function() == 2
    other = (lambda value=None: 3).__code__
    function.__code__ = other
    replacement.remove()
    assert function.__code__ is other


def test_tracebacks_name_the_file_of_the_function(install: Install) -> None:
    def failing() -> None:
        raise KeyError("own")

    install(failing)
    with pytest.raises(KeyError) as raised:
        failing()
    frames = [frame for frame in traceback.extract_tb(raised.tb) if frame.name == "failing"]
    assert {frame.filename for frame in frames} == {__file__}


def _frames(name: str, act: Callable[[], object]) -> int:
    """Return how many frames of functions of a name a call takes."""
    entered: list[str] = []
    before = sys.getprofile()
    sys.setprofile(
        lambda frame, event, _: entered.append(frame.f_code.co_name) if event == "call" else None
    )
    try:
        act()
    finally:
        sys.setprofile(before)
    return entered.count(name)


@native
def test_c_code_calls_the_original_of_settled_arguments(install: Install, seen: list[Any]) -> None:
    """Without a frame more; an entity gets to the hook."""

    def function(value: Any, /, more: Any = 1, *, times: Any = 1) -> Any:
        return value, more, times

    before = [function(1), function(1, times=2)]
    partial = functools.partial(function, times=2)
    error = _outcome(partial, (), {})
    for times in (1, 2):
        for _ in range(times):
            # By two names: both modules have it.
            replacement = install(function, When())
        assert _frames("function", lambda: [*map(function, [1]), partial("a")]) == 2
        assert [*map(function, [1]), partial(1)] == before
        assert _outcome(partial, (), {}) == error
        assert seen == []
        entity = LazyEntity.from_bytes(PLAIN)
        assert list(map(function, [entity])) == [(entity, 1, 1)]
        assert functools.partial(function, 1, times=[entity])() == (1, 1, [entity])
        assert len(seen) == 2
        seen.clear()
        replacement.remove()
        assert _frames("function", lambda: [*map(function, [1]), partial("a")]) == 2


def test_c_code_calls_what_others_changed(install: Install) -> None:
    """The defaults and the code, while the replacement is in force."""

    def function(value: Any = 1, *, times: Any = 1) -> Any:
        return value, times

    install(function, When())
    call = functools.partial(function)
    assert call() == (1, 1)
    function.__defaults__ = (2,)
    assert call() == (2, 1)
    function.__kwdefaults__ = {"times": 3}
    assert call() == (2, 3)
    function.__code__ = (lambda value=None, *, times: (4, times)).__code__
    assert call() == (4, 3)


@native
def test_the_instance_of_a_constructor_does_not_count(install: Install, seen: list[Any]) -> None:
    class Made:
        def __init__(self, value: Any) -> None:
            self.value = value

    kept = LazyEntity.from_bytes(PLAIN)
    install(Made.__init__, When())
    assert Made(1).value == 1
    assert seen == []
    assert Made(kept).value is kept
    assert len(seen) == 1


def test_functions_that_are_no_plain_calls_are_left() -> None:
    """A function that is called later, or that is none of Python's."""

    def generator() -> Iterator[int]:
        yield 1

    async def coroutine() -> None: ...

    for function in (generator, coroutine, len, MethodType(nothing, 1), functools.partial(nothing)):
        assert function_replacement(function) is None


def test_bound_methods_of_incomplete_models() -> None:
    """The other model is looked for where the method is called."""
    pydantic = pytest.importorskip("pydantic")
    adapters.remove()
    validate = pydantic.BaseModel.model_validate.__func__
    init, dump = pydantic.BaseModel.__init__, pydantic.BaseModel.model_dump
    with installed():
        assert pydantic.BaseModel.__init__ is init

        def make() -> tuple[Any, Any]:
            class Late(pydantic.BaseModel):  # type: ignore[misc, name-defined]  # need not be there
                other: Other  # made later

            class Other(pydantic.BaseModel):  # type: ignore[misc, name-defined]  # as above
                value: Any

            entity = LazyEntity.from_bytes(PLAIN)
            return MethodType(validate, Late)({"other": {"value": entity}}), entity

        model, entity = make()
        assert model.other.value is entity
        assert entity._undecoded() == []

        def construct() -> Any:
            class Late(pydantic.BaseModel):  # type: ignore[misc, name-defined]  # as above
                other: Other  # made later

            class Other(pydantic.BaseModel):  # type: ignore[misc, name-defined]  # as above
                value: Any

            late = Late.__new__(Late)
            init(late, other={"value": LazyEntity.from_bytes(PLAIN)})
            return late

        assert construct().other.value._undecoded() == []
        late = construct()
        late.other.__dict__["value"] = LazyEntity.from_bytes(PLAIN)
        assert dump(late)["other"]["value"]["text"] == "Grüße"
    assert pydantic.BaseModel.__init__ is init
