"""Requests of an application without a socket."""

from __future__ import annotations

from typing import Any


def request_of(app: Any, path: str = "/") -> Any:
    """Return a coroutine function that makes a request of an application, without a socket."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def request() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await app(dict(scope), receive, send)
        assert sent[0]["status"] == 200
        return sent

    return request
