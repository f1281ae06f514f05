"""Proxies of HTTP responses, whose JSON has entities that are converted later."""

from __future__ import annotations

from typing import Any

from lazyentity.patches.rest.properties import mark_response

try:
    from lazyentity.patches.rest.raw import parsed_but_properties
except ImportError:
    # Without msgspec, or with a version that lacks something, properties are parsed.
    parsed_but_properties = None  # type: ignore[assignment]


class _Response:
    """A proxy of the response of an HTTP library.

    Everything but :meth:`json` is asked of the response.

    Args:
        response: the response.
        takes_serialised: whether the properties of entities may stay serialised in its JSON.
    """

    __slots__ = ("_response", "_takes_serialised")

    def __init__(self, response: Any, takes_serialised: bool) -> None:
        self._response = response
        self._takes_serialised = takes_serialised and parsed_but_properties is not None

    @property
    def __class__(self) -> Any:
        return type(self._response)

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("__class__ assignment is not supported")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)


def _parsed(body: Any) -> Any:
    """Return the parsed body, with properties that stay serialised; None, if that is refused."""
    try:
        return parsed_but_properties(body)
    except ValueError:
        # The parser of the HTTP library says what is wrong with it, or takes it.
        return None


class AsyncResponse(_Response):
    """A proxy of a response of aiohttp."""

    __slots__ = ()

    async def json(self, **options: Any) -> Any:
        """Return the parsed body, as ``ClientResponse.json``."""
        response = self._response
        if self._takes_serialised and not options and _is_json_of_aiohttp(response):
            data = _parsed(await response.read())
            if data is not None:
                return data
        return mark_response(await response.json(**options))


def _is_json_of_aiohttp(response: Any) -> bool:
    return (
        _is_of(response, "aiohttp.client_reqrep", "ClientResponse")
        and response.content_type == "application/json"
        and _is_utf_8(response.charset)
    )


class SyncResponse(_Response):
    """A proxy of a response of requests."""

    __slots__ = ()

    def json(self, **options: Any) -> Any:
        """Return the parsed body, as ``Response.json``."""
        response = self._response
        if self._takes_serialised and not options and _is_utf_8_of_requests(response):
            data = _parsed(response.content)
            if data is not None:
                return data
        return mark_response(response.json(**options))


def _is_utf_8_of_requests(response: Any) -> bool:
    return _is_of(response, "requests.models", "Response") and _is_utf_8(response.encoding)


def _is_utf_8(charset: str | None) -> bool:
    return charset is None or charset.lower() == "utf-8"


def _is_of(value: Any, module: str, name: str) -> bool:
    """Whether a value is an instance of a class, which need not be imported for that."""
    kind = type(value)
    return kind.__module__ == module and kind.__qualname__ == name
