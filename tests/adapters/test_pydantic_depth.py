"""Where pydantic takes an entity from deep inside something else, it gets what it gets in stock."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import pydantic
import pytest
from packaging.version import Version
from pydantic import BaseModel, ConfigDict, TypeAdapter

from lazyentity import LazyEntity
from lazyentity._mode import is_eager
from lazyentity.patches import adapters
from tests.adapters.uses import TABULAR, listed
from tests.adapters.uses_functions import what_c_code_sees
from tests.entity.consumption import assert_consumed_alike
from tests.support.forks import answer
from tests.support.strategies.samples import PLAIN

BY_ATTRIBUTES = ConfigDict(from_attributes=True)
ASSIGNED = ConfigDict(validate_assignment=True)
AGAIN = ConfigDict(revalidate_instances="always")
AGAIN_BELOW = ConfigDict(revalidate_instances="subclass-instances")

pytestmark = pytest.mark.usefixtures("adapted")


@dataclasses.dataclass
class Text:
    text: str


SHOWN: Any = Text | dict[str, Any]


def _model(config: Any = None, base: Any = None, **fields: Any) -> Any:
    defined: dict[str, Any] = {name: (kind, None) for name, kind in fields.items()}
    return pydantic.create_model("Made", __config__=config, __base__=base, **defined)


# One model made of another one, which holds entities in models inside it.

HOLDER = _model(items=Any)
OUTER = _model(inner=Any)


def _nested(entity: Any) -> Any:
    return OUTER.model_construct(inner=HOLDER.model_construct(items=[entity]))


def _of_another(kind: Any, entity: Any, *, several: bool = False) -> Any:
    outer = _model(BY_ATTRIBUTES, inner=_model(BY_ATTRIBUTES, items=listed(kind)))
    if several:
        adapter = TypeAdapter(listed(outer))
        return what_c_code_sees(adapter.validate_python([_nested(entity)], from_attributes=True))
    return what_c_code_sees(outer.model_validate(_nested(entity)))


def _response(kind: Any, entity: Any) -> Any:
    fastapi = pytest.importorskip("fastapi")
    testing = pytest.importorskip("fastapi.testclient")
    app = fastapi.FastAPI()
    model = _model(inner=_model(items=listed(kind)))
    app.get("/", response_model=model)(lambda: _nested(entity))
    answered = testing.TestClient(app).get("/")
    return answered.status_code, answered.json()


# Objects deeper than the search for entities goes, of which each model is made.


class Node:
    def __init__(self, held: Any) -> None:
        self.held = held


DEPTH = 6


def _chain(entity: Any) -> Any:
    return functools.reduce(lambda held, _: Node(held), range(DEPTH), entity)


CHAIN: Any = SHOWN
for _ in range(DEPTH):
    CHAIN = _model(BY_ATTRIBUTES, held=CHAIN)


@pydantic.dataclasses.dataclass(config=ASSIGNED)
class Dataclass:
    value: CHAIN = None


class Assigned(BaseModel):
    model_config = ASSIGNED
    value: CHAIN = None


def _assigned(kind: Any, entity: Any) -> Any:
    made = kind()
    made.value = _chain(entity)
    return what_c_code_sees(made)


def _called(entity: Any) -> Any:
    @pydantic.validate_call(validate_return=True)
    def function(value: CHAIN) -> CHAIN:
        return value

    return what_c_code_sees(function(_chain(entity)))


def _iterated(entity: Any) -> Any:
    made = _model(items=Iterable[CHAIN])(items=(_chain(each) for each in [entity]))
    return what_c_code_sees(list(made.items))


# Models that pydantic validates again.


def _revalidated(config: Any, adapter: bool, entity: Any) -> Any:
    held = _model(config, value=SHOWN, number=Any)
    below = _model(base=held) if config is AGAIN_BELOW else held
    outer = _model(AGAIN, held=held)
    made = outer.model_construct(held=below.model_construct(value=entity))
    if adapter:
        return what_c_code_sees(TypeAdapter(outer).validate_python(made))
    return what_c_code_sees(outer.model_validate(made))


# Dataclasses whose assignments are validated.


def _child(entity: Any) -> Any:
    # Made while pydantic is adapted, as only such dataclasses decode assignments to any field.
    @pydantic.dataclasses.dataclass(config=ASSIGNED)
    class Base:
        value: SHOWN = None

    @pydantic.dataclasses.dataclass(config=ASSIGNED)
    class Child(Base):
        shown: SHOWN = None

    base, child = Base(), Child()
    child.shown = entity
    base.value = child.value = entity
    return what_c_code_sees([base, child])


USES: dict[str, Callable[[Any], Any]] = {
    "a model of a model, unions": lambda e: _of_another(SHOWN, e),
    "a model of a model, classes": lambda e: _of_another(Text, e),
    "models of models": lambda e: _of_another(SHOWN, e, several=True),
    "response model, unions": lambda e: _response(SHOWN, e),
    "response model, classes": lambda e: _response(Text, e),
    "deep, validated": lambda e: what_c_code_sees(CHAIN.model_validate(_chain(e))),
    "deep, dataclass": lambda e: what_c_code_sees(Dataclass(_chain(e))),
    "deep, assigned to a dataclass": lambda e: _assigned(Dataclass, e),
    "deep, assigned to a model": lambda e: _assigned(Assigned, e),
    "deep, validate_call": _called,
    "deep, items taken later": _iterated,
    "validated again": lambda e: _revalidated(AGAIN, False, e),
    "validated again, by an adapter": lambda e: _revalidated(AGAIN, True, e),
    "validated again, subclasses": lambda e: _revalidated(AGAIN_BELOW, False, e),
    "assigned to a child": _child,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_same_result(lazy_type: type[LazyEntity], use: Callable[[Any], Any]) -> None:
    for raw in (TABULAR, PLAIN):
        assert_consumed_alike(use, lazy_type.from_bytes(raw), raw)


# The rest of what is replaced does what it does in stock.


def _own_assignment() -> Any:
    @pydantic.dataclasses.dataclass
    class Own:
        value: Any = None

        def __setattr__(self, name: str, value: Any, mark: Any = None) -> None:
            object.__setattr__(self, name, (value, mark))

    made = Own()
    iterator = iter([1])
    made.__setattr__("value", iterator, mark=1)
    return made.value[0] is iterator, made.value[1], inspect.isfunction(Own.__setattr__)


takes_forward_references = pytest.mark.skipif(
    Version(pydantic.VERSION) < Version("2.10"),
    reason="pydantic refuses a type adapter with a forward reference",
)


def _forward_adapter() -> Any:
    of: Any = TypeAdapter
    made = [of("list[Later]") for _ in range(3)]

    class Later(BaseModel):
        deep: str

    return (
        repr(made[0].validate_python([{"deep": "x"}])),
        repr(made[1].validate_json('[{"deep": "x"}]')),
        made[2].dump_python([Later(deep="x")]),
        _refused(lambda: of("list[Nowhere]").validate_python([])),
    )


def _forward_dataclass() -> Any:
    @pydantic.dataclasses.dataclass
    class Made:
        value: Later  # it comes later

    class Later(BaseModel):
        deep: str

    return repr(Made({"deep": "x"}).value)  # type: ignore[arg-type]  # it is validated


def _refused(call: Callable[[], Any]) -> Any:
    with pytest.raises(Exception) as error:  # noqa: PT011  # of any class, which is compared
        call()
    return type(error.value), str(error.value), error.value.__context__ is None


def _arguments() -> Any:
    adapter: Any = TypeAdapter(int)
    return (
        [_refused(call) for call in (adapter.validate_python, adapter.dump_json)],
        _refused(lambda: adapter.validate_python(object=1)),
        _refused(lambda: adapter.validate_python(1, 2)),
        _refused(lambda: adapter.validate_python("x")),
    )


def _coroutine() -> Any:
    async def made() -> int:
        return 1

    coroutine = made()
    function: Any = pydantic.validate_call(validate_return=True)(lambda: coroutine)
    is_same = function() is coroutine
    coroutine.close()
    return is_same


@pytest.mark.parametrize(
    "use",
    [
        _own_assignment,
        pytest.param(_forward_adapter, marks=takes_forward_references),
        _forward_dataclass,
        _arguments,
        _coroutine,
    ],
)
def test_as_without_adapters(use: Callable[[], Any]) -> None:
    adapted = use()
    adapters.remove()
    assert use() == adapted


Eagerly = Annotated[Any, pydantic.BeforeValidator(lambda _: is_eager())]


class EagerModel(BaseModel):
    model_config = ASSIGNED
    value: Eagerly = None


def test_reads_of_validators_are_eager() -> None:
    """In constructors of dataclasses and in assignments."""

    @pydantic.dataclasses.dataclass(config=ASSIGNED)
    class Made:
        value: Eagerly = None

    constructed, model = Made(1), EagerModel()
    assert constructed.value is True
    constructed.value = model.value = 1
    assert constructed.value is model.value is True
    assert not is_eager()
    adapters.remove()
    constructed.value = model.value = 1
    assert constructed.value is model.value is Made(1).value is False


def test_wrapped_replacements_leave_the_mode_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody wrapped them while they stood there, and they are still called after remove()."""
    for name in ("__init__", "model_dump", "__setattr__"):
        replacement = getattr(BaseModel, name)
        monkeypatch.setattr(BaseModel, name, functools.partialmethod(replacement))

    class Dumped(EagerModel):
        @pydantic.field_serializer("value")
        def _serialized(self, _: Any) -> bool:
            return is_eager()

    made = Dumped(value=1)
    assert made.value
    assert made.model_dump() == {"value": True}
    adapters.remove()
    made = Dumped(value=1)
    assert made.value is False
    assert made.model_dump() == {"value": False}
    made.value = 1
    assert made.value is False


def test_dataclasses_of_main_are_pickled() -> None:
    """Cloudpickle takes them by value, and gets nothing of lazyentity's."""
    pytest.importorskip("cloudpickle")
    assert answer("-c", _PICKLED, warnings="ignore") == [True, False]


_PICKLED = """
import json
import lazyentity
lazyentity.patch()
import cloudpickle, pickle, pydantic

@pydantic.dataclasses.dataclass(config={"validate_assignment": True})
class Made:
    value: int

pickled = cloudpickle.dumps(Made)
made = pickle.loads(pickled)("1")
made.value = "2"
print(json.dumps([made.value == 2, b"lazyentity" in pickled]))
"""
