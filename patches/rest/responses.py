"""Proxies of HTTP responses, whose JSON has entities that are converted later."""

from __future__ import annotations

import sys
from typing import Any

from wrapt import ObjectProxy

from lazyentity.patches.rest.properties import mark_response

try:
    from lazyentity.patches.rest.raw import parsed_but_properties
except ImportError:
    # Without msgspec, or with a version that lacks something, properties are parsed.
    parsed_but_properties = None  # type: ignore[assignment]


class _Response(ObjectProxy):  # type: ignore[type-arg]  # wrapt 1 has no type argument
    """A proxy of the response of an HTTP library, to which all but its JSON is left.

    Args:
        response: the response.
        takes_serialised: whether the properties of entities may stay serialised in its JSON.
    """

    def __init__(self, response: Any, *, takes_serialised: bool) -> None:
        super().__init__(response)
        self._self_takes_serialised = takes_serialised and parsed_but_properties is not None


def _parsed(body: Any) -> Any:
    """Return the parsed body, with properties that stay serialised; None, if that is refused."""
    try:
        return parsed_but_properties(body)
    except ValueError:
        # The HTTP library's parser says what is wrong with the body, or accepts it.
        return None


def _is_utf_8(charset: str | None) -> bool:
    return charset is None or charset.lower() == "utf-8"


class AsyncResponse(_Response):
    """A proxy of a response of aiohttp."""

    @staticmethod
    def proxied_type() -> Any:
        """Return the class of the responses."""
        return sys.modules["aiohttp.client_reqrep"].ClientResponse

    async def json(self, **options: Any) -> Any:
        """Return the parsed body, as ``ClientResponse.json``."""
        response = self.__wrapped__
        if (
            self._self_takes_serialised
            and not options
            and response.content_type == "application/json"
            and _is_utf_8(response.charset)
        ):
            data = _parsed(await response.read())
            if data is not None:
                return data
        return mark_response(await response.json(**options))


class SyncResponse(_Response):
    """A proxy of a response of requests."""

    @staticmethod
    def proxied_type() -> Any:
        """Return the class of the responses."""
        return sys.modules["requests.models"].Response

    def json(self, **options: Any) -> Any:
        """Return the parsed body, as ``Response.json``."""
        response = self.__wrapped__
        if self._self_takes_serialised and not options and _is_utf_8(response.encoding):
            data = _parsed(response.content)
            if data is not None:
                return data
        return mark_response(response.json(**options))
