"""Forks processes in which what clients require was imported, but neither a client nor lazyentity.

Run as ``python -m tests.support.fork_server``. Reads a line of JSON for each process: arguments as
for an interpreter, a filter for warnings, environment variables, and the files for its output.
Writes a line with the status of each process when it has ended.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import json
import os
import runpy
import signal
import sys
import types
import warnings
from contextlib import suppress
from typing import Any

SECONDS = 120
"""In which a process must have ended."""

REQUIRED = (
    "aiohttp",
    "google.auth.transport.grpc",
    "google.auth.transport.mtls",
    "google.auth.transport.requests",
    "google.longrunning.operations_grpc_pb2",
    "google.protobuf.json_format",
    "google.protobuf.wrappers_pb2",
    "google.rpc.error_details_pb2",
    "google.type.latlng_pb2",
    "grpc.experimental",
    "grpc_status.rpc_status",
    "jwt",
    "opentelemetry.baggage",
    "opentelemetry.propagate",
    "opentelemetry.trace",
    "pymemcache",
    "pytz",
    "redis",
    "unittest.mock",
    "wrapt",
)
"""Modules that take time to import, and that neither the clients nor lazyentity change."""

CORE = (
    "google.api_core.bidi",
    "google.api_core.client_logging",
    "google.api_core.gapic_v1",
    "google.api_core.grpc_helpers_async",
    "google.api_core.page_iterator",
    "google.api_core.path_template",
    "google.api_core.rest_helpers",
    "google.api_core.rest_streaming",
    "google.api_core.retry_async",
    "proto",
)
"""Such modules, too; lazyentity declares private names of theirs, which some tests change."""


def import_required(*others: str) -> None:
    """Import the modules of :data:`REQUIRED`, and others, that are installed."""
    for module in (*REQUIRED, *others):
        with suppress(ModuleNotFoundError):
            importlib.import_module(module)


def serve() -> dict[str, Any]:
    """Fork a process for each line, until there are no more; return the request in each of them."""
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            request: dict[str, Any] = json.loads(line)
            return request
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    raise SystemExit


def become(request: dict[str, Any]) -> None:
    """Take over the files, the environment and the filter for warnings of a request."""
    signal.alarm(SECONDS)
    for number, path in enumerate((os.devnull, request["output"], request["errors"])):
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    action, _, category = request["warnings"].partition("::")
    warnings.simplefilter(action, getattr(builtins, category or "Warning"))
    # As of interpreters: see subprocesses.options().
    warnings.filterwarnings("ignore", "You are using a", FutureWarning)


def run(arguments: list[str]) -> None:
    """Run a program, given by ``-c`` and its text or ``-m`` and its module."""
    option, program, *rest = arguments
    if option == "-m":
        sys.argv = [program, *rest]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    sys.argv = [option, *rest]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(program, "<string>", "exec"), vars(main))  # noqa: S102  # as the interpreter does


if __name__ == "__main__":
    import_required(*CORE)
    # The processes share memory with this one as long as they do not write to it.
    gc.collect()
    gc.freeze()
    asked = serve()
    become(asked)
    run(asked["arguments"])
