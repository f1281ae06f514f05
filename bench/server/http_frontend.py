"""The service over HTTP: POST /v1/projects/{project}:{method}.

Bodies are protobuf, as Google's client sends it, or JSON, as the REST interface of Datastore has
it, by the Content-Type of the request.
"""

from __future__ import annotations

import functools
import json
import re
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from google.api_core import exceptions
from google.protobuf import json_format
from google.rpc import status_pb2  # type: ignore[import-untyped]  # ships no types

from .datastore import DatastoreService
from .errors import Refusal, invalid_argument
from .schema import METHODS

_JSON = "application/json"
_PATH = re.compile(r"/v1/projects/(?P<project>[^/:]+):(?P<method>\w+)")
_RPC_NAMES = {name[0].lower() + name[1:]: name for name in METHODS}


def _from_json(method: str, body: bytes) -> bytes:
    message = METHODS[method][0]()
    try:
        json_format.Parse(body or b"{}", message)
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise invalid_argument(f"the request is not a {method}Request: {error}") from error
    return bytes(message.SerializeToString())


# The service gives the same response to a repeated request: a benchmark then does not measure how
# slowly JSON is made.
@functools.lru_cache(maxsize=16)
def _to_json(method: str, serialised: bytes) -> bytes:
    message = METHODS[method][1].FromString(serialised)
    return json_format.MessageToJson(message, indent=None).encode()


def _refusal(error: Refusal, is_json: bool) -> tuple[int, bytes]:
    """The status and the body of a refusal: a google.rpc.Status, or an error object in JSON."""
    # Codes without an HTTP status are errors of the server.
    status = int(exceptions.exception_class_for_grpc_status(error.code).code or 500)
    if is_json:
        described = {"code": status, "message": str(error), "status": error.code.name}
        return status, json.dumps({"error": described}).encode()
    message = status_pb2.Status(code=error.code.value[0], message=str(error))
    return status, message.SerializeToString()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, service: DatastoreService, port: int) -> None:
        self.service = service
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer's method looks the host's name up, which can take seconds and serves only CGI.
        socketserver.TCPServer.server_bind(self)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # Headers and body leave in one segment, at once.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer one RPC."""
        is_json = self.headers.get_content_type() == _JSON
        request = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            status, body = 200, self._call(request, is_json)
        except Refusal as error:
            status, body = _refusal(error, is_json)
        self.send_response(status)
        kind = f"{_JSON}; charset=UTF-8" if is_json else "application/x-protobuf"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _call(self, request: bytes, is_json: bool) -> bytes:
        match = _PATH.fullmatch(self.path)
        if match is None or match["method"] not in _RPC_NAMES:
            raise Refusal(grpc.StatusCode.NOT_FOUND, f"there is no {self.path} here")
        method = _RPC_NAMES[match["method"]]
        if is_json:
            request = _from_json(method, request)
        response = self.server.service.call(method, request, match["project"])
        return _to_json(method, response) if is_json else response

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
        """Requests are not logged."""


def start_http(service: DatastoreService, port: int) -> tuple[ThreadingHTTPServer, int]:
    """Serve on 127.0.0.1 in a thread; returns the running server and its port.

    ``port`` 0 takes a free one.

    Raises:
        OSError: when the port cannot be bound.
    """
    server = _Server(service, port)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server, server.server_address[1]
