"""The names that pydantic takes from an entity: all of them are known, or none."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pydantic
import pytest

import lazyentity
from lazyentity.patches.adapters import fields
from tests.profiling.receiving import FIVE, Response


class Plain(pydantic.BaseModel):
    a: int
    b: str = "text"


class After(Plain):
    @pydantic.model_validator(mode="after")
    def _check(self) -> Any:
        return self


class Tree(Plain):
    child: Tree | None = None


class Aliased(pydantic.BaseModel):
    first: int = pydantic.Field(validation_alias="a")
    second: int = pydantic.Field(0, validation_alias=pydantic.AliasPath("b", 0))
    third: int = pydantic.Field(
        0, validation_alias=pydantic.AliasChoices("c", pydantic.AliasPath("d", "deep"))
    )


class Allowing(Plain):
    model_config = pydantic.ConfigDict(extra="allow")


class Forbidding(Plain):
    model_config = pydantic.ConfigDict(extra="forbid")


class Before(Plain):
    @pydantic.model_validator(mode="before")
    @classmethod
    def _look(cls, values: Any) -> Any:
        return values


class Around(Plain):
    @pydantic.model_validator(mode="wrap")
    @classmethod
    def _look(cls, values: Any, handler: Any) -> Any:
        return handler(values)


class Constructed(Plain):
    def __init__(self, **values: Any) -> None:
        super().__init__(**values)


Root = pydantic.RootModel[dict[str, Any]]


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (Plain, ("a", "b")),
        (After, ("a", "b")),
        (Tree, ("a", "b", "child")),
        (Aliased, ("a", "first", "b", "second", "c", "d", "third")),
        (Allowing, None),
        (Forbidding, None),
        (Before, None),
        (Around, None),
        (Constructed, None),
        (Root, None),
    ],
)
def test_names(model: Any, names: Any) -> None:
    assert fields.names_of(model) == names


def test_a_class_does_not_live_longer() -> None:
    """A profile that noted it does not keep it."""
    with lazyentity.profile():
        (entity,) = Response(lazyentity.backend, [FIVE]).entities()
        entity.items()
        model = pydantic.create_model("Made", a=(int, ...))
        fields.decode_input(model, entity)
        alive = weakref.ref(model)
        del model
        gc.collect()
        assert alive() is None
