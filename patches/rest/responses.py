"""Proxies of HTTP responses, whose JSON has entities that are converted later."""

from __future__ import annotations

import sys
from typing import Any

from lazyentity.patches.rest.properties import mark_response
from lazyentity.patches.upstream import is_upstream
from lazyentity.patches.wrapt_parts import ObjectProxy

try:
    from lazyentity.patches.rest.raw import parsed_but_properties
except ImportError:
    # Without msgspec, or with a version that lacks something, properties are parsed.
    parsed_but_properties = None  # type: ignore[assignment]

_AIOHTTP, _REQUESTS = "aiohttp.client_reqrep", "requests.models"


class _Response(ObjectProxy):  # type: ignore[type-arg]  # wrapt 1 has no type argument
    """A proxy of the response of an HTTP library, to which all but its JSON is left.

    Args:
        response: the response.
        takes_serialised: whether the properties of entities may stay serialised in its JSON.
    """

    def __init__(self, response: Any, takes_serialised: bool) -> None:
        super().__init__(response)
        self._self_takes_serialised = takes_serialised and parsed_but_properties is not None


def _parsed(body: Any) -> Any:
    """Return the parsed body, with properties that stay serialised; None, if that is refused."""
    try:
        return parsed_but_properties(body)
    except ValueError:
        # The HTTP library's parser says what is wrong with the body, or accepts it.
        return None


class AsyncResponse(_Response):
    """A proxy of a response of aiohttp."""

    async def json(self, **options: Any) -> Any:
        """Return the parsed body, as ``ClientResponse.json``."""
        response = self.__wrapped__
        if self._self_takes_serialised and not options and _is_json_of_aiohttp(response):
            data = _parsed(await response.read())
            if data is not None:
                return data
        data = await response.json(**options)
        return mark_response(data) if _parses_upstream(response, _AIOHTTP) else data


def _is_json_of_aiohttp(response: Any) -> bool:
    return (
        type(response) is sys.modules[_AIOHTTP].ClientResponse
        and _parses_upstream(response, _AIOHTTP)
        and response.content_type == "application/json"
        and _is_utf_8(response.charset)
    )


class SyncResponse(_Response):
    """A proxy of a response of requests."""

    def json(self, **options: Any) -> Any:
        """Return the parsed body, as ``Response.json``."""
        response = self.__wrapped__
        if self._self_takes_serialised and not options and _is_utf_8_of_requests(response):
            data = _parsed(response.content)
            if data is not None:
                return data
        data = response.json(**options)
        return mark_response(data) if _parses_upstream(response, _REQUESTS) else data


def _is_utf_8_of_requests(response: Any) -> bool:
    return (
        type(response) is sys.modules[_REQUESTS].Response
        and _parses_upstream(response, _REQUESTS)
        and _is_utf_8(response.encoding)
    )


def _is_utf_8(charset: str | None) -> bool:
    return charset is None or charset.lower() == "utf-8"


def _parses_upstream(response: Any, module: str) -> bool:
    """Whether the JSON of a response comes from its library, and so belongs to nobody yet.

    A mock gives an object of the test, and may give it again.
    """
    return is_upstream(getattr(type(response), "json", None), sys.modules[module])
