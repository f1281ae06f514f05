"""The bodies of HTTP requests and responses: protobuf, as Google's client sends it, or JSON."""

from __future__ import annotations

import json

import grpc
from google.protobuf import json_format
from google.rpc import status_pb2  # type: ignore[import-untyped]  # ships no types

from .cache import ResponseCache
from .errors import DatastoreError, invalid_argument
from .schema import METHODS

HTTP_STATUS = {
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.UNKNOWN: 500,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DATA_LOSS: 500,
}


class Protobuf:
    """Messages as they are on the wire. Any thread may use an encoding.

    ``content_type`` is the header of requests, ``response_type`` the header of responses.
    """

    content_type = response_type = "application/x-protobuf"

    def request(self, method: str, body: bytes) -> bytes:
        """The serialised request in a body.

        Raises:
            DatastoreError: when the body is malformed.
        """
        # The service parses it.
        return body

    def response(self, method: str, serialised: bytes) -> bytes:
        """The body of a serialised response."""
        return serialised

    def error(self, error: DatastoreError) -> bytes:
        """The body of a refusal: a google.rpc.Status."""
        status = status_pb2.Status(code=error.code.value[0], message=error.message)
        serialised: bytes = status.SerializeToString()
        return serialised


class Json(Protobuf):
    """Messages in the JSON mapping of protobuf, as the REST interface of Datastore has them.

    The service gives the same response object to a repeated request. This class then gives the same
    JSON, so that a benchmark does not measure how slowly JSON is made.
    """

    content_type = "application/json"
    response_type = "application/json; charset=UTF-8"

    def __init__(self) -> None:
        self._cache = ResponseCache()

    def request(self, method: str, body: bytes) -> bytes:
        """The message of the body; the empty message, if there is no body.

        Raises:
            DatastoreError: when the body is not the JSON of such a message.
        """
        message = METHODS[method][0]()
        try:
            json_format.Parse(body or b"{}", message)
        except (json_format.ParseError, UnicodeDecodeError) as error:
            raise invalid_argument(f"the request is not a {method}Request: {error}") from error
        serialised: bytes = message.SerializeToString()
        return serialised

    def response(self, method: str, serialised: bytes) -> bytes:
        """The JSON of a response, without line breaks and with unpopulated fields left out."""
        key = method, serialised
        body = self._cache.get(key, 0)
        if body is None:
            message = METHODS[method][1].FromString(serialised)
            body = json_format.MessageToJson(message, indent=None).encode()
            self._cache.put(key, 0, body)
        return body

    def error(self, error: DatastoreError) -> bytes:
        """The error object of Google's REST interfaces."""
        described = {
            "code": HTTP_STATUS[error.code],
            "message": error.message,
            "status": error.code.name,
        }
        return json.dumps({"error": described}).encode()
