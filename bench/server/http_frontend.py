"""The service over HTTP: POST /v1/projects/{project}:{method} with protobuf or JSON bodies."""

from __future__ import annotations

import re
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc

from .encodings import HTTP_STATUS, Json, Protobuf
from .errors import DatastoreError, invalid_argument
from .schema import METHODS
from .service import DatastoreService

_PATH = re.compile(r"/v1/projects/(?P<project>[^/:]+):(?P<method>\w+)")
_RPC_NAMES = {name[0].lower() + name[1:]: name for name in METHODS}


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, service: DatastoreService, port: int) -> None:
        self.service = service
        self.encodings: dict[str, Protobuf] = {
            encoding.content_type: encoding for encoding in (Protobuf(), Json())
        }
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
        encodings = self.server.encodings
        encoding = encodings.get(self.headers.get_content_type())
        try:
            status, body = 200, self._call(encoding)
        except DatastoreError as error:
            # A caller with an unknown encoding gets that of Google's client.
            encoding = encoding or encodings[Protobuf.content_type]
            status, body = HTTP_STATUS[error.code], encoding.error(error)
        self.send_response(status)
        self.send_header("Content-Type", (encoding or Protobuf).response_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _call(self, encoding: Protobuf | None) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            # A body of unknown length cannot be told from the next request.
            self.close_connection = True
            raise invalid_argument("a request must have a Content-Length")
        body = self.rfile.read(int(length))
        match = _PATH.fullmatch(self.path)
        if match is None or match["method"] not in _RPC_NAMES:
            raise DatastoreError(grpc.StatusCode.NOT_FOUND, f"there is no {self.path} here")
        if encoding is None:
            expected = " or ".join(self.server.encodings)
            raise invalid_argument(f"the Content-Type of a request must be {expected}")
        method = _RPC_NAMES[match["method"]]
        request = encoding.request(method, body)
        return encoding.response(
            method, self.server.service.call(method, request, match["project"])
        )

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
