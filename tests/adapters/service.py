"""A FastAPI service that returns entities in the ways that applications do.

Run as ``python -m tests.adapters.service DATASTORE_PORT [lazy]``: prints the port it listens at.
"""

from __future__ import annotations

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

from tests.support.clients import make_client

KIND = "Served"
COUNT = 3

app = fastapi.FastAPI()


class Inner(pydantic.BaseModel):
    deep: str


class Public(pydantic.BaseModel):
    """Leaves the secrets out."""

    model_config = pydantic.ConfigDict(from_attributes=True)

    text: str
    number: int
    inner: Inner
    inners: list[Inner]


class Error(pydantic.BaseModel):
    error: str


class Full(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    text: str = "default"
    missing: str = "default"


class Page(pydantic.BaseModel):
    items: list[Public | Error]
    first: Public | dict[str, Any]
    held: Any


def get() -> Any:
    """Read one entity."""
    client = app.state.client
    return client.get(client.key(KIND, 1))


def query() -> list[Any]:
    """Read all, in order."""
    return list(app.state.client.query(kind=KIND, order=["__key__"]).fetch())


def _page() -> Any:
    entities = query()
    return {"items": entities, "first": entities[0], "held": [{"e": entities[1]}]}


_ONE: dict[str, Any] = {
    "public": Public,
    "public-or-dict": Public | dict[str, Any],
    "dict-or-public": dict[str, Any] | Public,
    "error-or-public": Error | Public,
    "full": Full,
    "dict": dict[str, Any],
    "any": Any,
    "none": None,
    "wrong": list[int],
    "optional": Public | None,
}
_MANY: dict[str, Any] = {
    "publics": list[Public],
    "publics-or-errors": list[Public | Error],
    "dicts": list[dict[str, Any]],
    "list": list,
}


def _endpoints() -> None:
    returning: dict[str, Callable[[], Any]] = {"list": query, "tuple": lambda: tuple(query())}
    for name, model in _ONE.items():
        app.get(f"/one/{name}", response_model=model)(get)

        async def get_async() -> Any:
            return get()

        app.get(f"/async/{name}", response_model=model)(get_async)
    for name, model in _MANY.items():
        for kind, made in returning.items():
            app.get(f"/{kind}/{name}", response_model=model)(made)
    app.get("/page", response_model=Page)(_page)
    app.get("/page/any", response_model=dict[str, Any])(_page)
    app.get("/model", response_model=Page)(lambda: Page.model_validate(_page()))
    app.get("/constructed")(lambda: Page.model_construct(**_page()))
    app.get("/unset", response_model=Full, response_model_exclude_unset=True)(get)
    app.get("/included", response_model=dict[str, Any], response_model_include={"text"})(get)
    app.get("/encoded")(lambda: JSONResponse(jsonable_encoder(query())))
    app.get("/orjson")(lambda: Response(orjson.dumps(query(), default=str)))


@app.get("/depends")
def depends(entity: Annotated[Any, fastapi.Depends(get)]) -> Public | dict[str, Any]:
    """Return what a dependency read."""
    return entity  # type: ignore[no-any-return]  # that is what is validated


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
