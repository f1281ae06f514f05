"""A FastAPI service that returns entities in every way that an application does.

Run as ``python -m tests.adapters.service DATASTORE_PORT [lazy]``: prints the port it listens at.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import socket
import sys
from collections.abc import Callable
from typing import Annotated, Any

if __name__ == "__main__" and "lazy" in sys.argv:
    importlib.import_module("lazyentity.auto")

import fastapi
import orjson
import pydantic
import uvicorn
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse, Response

from tests.adapters.uses_models import Error, Fallback, Full, Holder, OfHolder, Prepared, Public
from tests.support.clients import make_client

KIND = "Served"
COUNT = 3

app = fastapi.FastAPI()


@dataclasses.dataclass
class Row:
    text: str
    number: int


class Page(pydantic.BaseModel):
    items: list[Public | Error]
    first: Public | dict[str, Any]
    held: Any


class Reading(pydantic.BaseModel):
    """Reads entities while it is validated and serialised."""

    model_config = pydantic.ConfigDict(from_attributes=True)

    number: int
    read: Public | Error
    held: dict[str, Any]
    made: dict[str, Any] | Public = pydantic.Field(default_factory=lambda: get())

    @pydantic.field_validator("read", mode="before")
    @classmethod
    def _read(cls, _: Any) -> Any:
        return get()

    @pydantic.field_serializer("held", mode="wrap")
    def _held(self, _: Any, handler: Any) -> Any:
        return handler(get())

    @pydantic.computed_field
    def computed(self) -> dict[str, Any]:
        return get()  # type: ignore[no-any-return]  # that is what is serialised

    @pydantic.computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @functools.cached_property
    def cached(self) -> list[Any]:
        return list(query())


class Read:
    """Has properties that read entities."""

    number = 1
    read = None

    @property
    def held(self) -> Any:
        return get()


def _client() -> Any:
    return app.state.client


def get() -> Any:
    """Read one entity."""
    client = _client()
    return client.get(client.key(KIND, 1))


def query() -> Any:
    """Read all, in order."""
    return _client().query(kind=KIND, order=["__key__"]).fetch()


def _page() -> Any:
    entities = list(query())
    return {"items": entities, "first": entities[0], "held": [{"e": entities[1]}]}


_ONE: dict[str, Any] = {
    "public": Public,
    "public-or-dict": Public | dict[str, Any],
    "dict-or-public": dict[str, Any] | Public,
    "public-or-error": Public | Error,
    "error-or-public": Error | Public,
    "fallback": Fallback,
    "prepared": Prepared,
    "full": Full,
    "row": Row,
    "dict": dict[str, Any],
    "plain-dict": dict,
    "any": Any,
    "none": None,
    "wrong": list[int],
    "optional": Public | None,
}
_MANY: dict[str, Any] = {
    "publics": list[Public],
    "publics-or-errors": list[Public | Error],
    "dicts": list[dict[str, Any]],
    "plain-dicts": list[dict],  # type: ignore[type-arg]  # as applications write it
    "list": list,
}


def _endpoints() -> None:
    for name, model in _ONE.items():
        app.get(f"/one/{name}", response_model=model)(get)

        async def get_async() -> Any:
            return get()

        app.get(f"/async/{name}", response_model=model)(get_async)
    returning: dict[str, Callable[[], Any]] = {
        "list": lambda: list(query()),
        "tuple": lambda: tuple(query()),
        "query": query,
        "generator": lambda: (e for e in query()),
    }
    for name, model in _MANY.items():
        for kind, made in returning.items():
            app.get(f"/{kind}/{name}", response_model=model)(made)
    app.get("/page", response_model=Page)(_page)
    app.get("/page/any", response_model=dict[str, Any])(_page)
    app.get("/holder", response_model=OfHolder)(lambda: Holder(get()))
    app.get("/reading", response_model=Reading)(Read)
    app.get("/reading/dict", response_model=Reading)(
        lambda: {"number": 1, "read": 1, "held": {"e": (get() for _ in range(2))}}
    )
    app.get("/reading/excluded", response_model=Reading, response_model_exclude={"held"})(Read)
    app.get("/model", response_model=Page)(lambda: Page.model_validate(_page()))
    app.get("/constructed")(lambda: Page.model_construct(**_page()))
    app.get("/unset", response_model=Full, response_model_exclude_unset=True)(get)
    app.get("/included", response_model=dict[str, Any], response_model_include={"text"})(get)
    app.get("/excluded", response_model_exclude={"text"})(get)
    app.get("/encoded")(lambda: JSONResponse(jsonable_encoder(list(query()))))
    app.get("/orjson")(lambda: Response(orjson.dumps(list(query()), default=str)))
    for kind in ("ORJSONResponse", "UJSONResponse"):
        response: Any = getattr(importlib.import_module("fastapi.responses"), kind)
        app.get(f"/returned/{kind}")(lambda response=response: response([get()]))
        app.get(f"/class/{kind}", response_class=response)(get)


@app.get("/depends")
def depends(entity: Annotated[Any, fastapi.Depends(get)]) -> Public | dict[str, Any]:
    """Return what a dependency read."""
    return entity  # type: ignore[no-any-return]  # that is what is validated


@app.get("/annotated")
def annotated() -> list[Public | Error]:
    """Return more than the annotation says."""
    return list(query())


_endpoints()

PATHS = tuple(route.path for route in app.routes if isinstance(route, fastapi.routing.APIRoute))


def main(datastore_port: int) -> None:
    """Serve until the process is ended."""
    app.state.client = make_client(datastore_port, "grpc")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        print(listening.getsockname()[1], flush=True)  # noqa: T201  # is read by the test
        config = uvicorn.Config(app, log_level="critical", lifespan="off")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(int(sys.argv[1]))
