"""Global caches of ndb, and their servers."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pymemcache
import pytest
import redis
from google.cloud import ndb
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.ndb import _cache, _datastore_api

from tests.support import child_server

# Servers that keep everything in memory. memcached does not run as root without being told to.
_REDIS = ("redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port")
_MEMCACHED = (
    *("memcached", "--listen=127.0.0.1", "--udp-port=0"),
    *(("--user=root",) if os.geteuid() == 0 else ()),
    "--port",
)
_SERVERS = {
    "redis": (_REDIS, b"PING\r\n", b"+PONG"),
    "memcache": (_MEMCACHED, b"version\r\n", b"VERSION"),
}
"""By the name of a cache: the command of its server but for the port; a request; its answer."""

CACHES = [
    "in-process",
    *(pytest.param(name, marks=getattr(pytest.mark, name)) for name in _SERVERS),
]


@contextmanager
def running(name: str) -> Iterator[Any]:
    """Run the server of a cache, and give ndb's cache over it.

    Raises:
        RuntimeError: if the server is not installed, or if it does not start.
    """
    command, request, answer = _SERVERS[name]
    if shutil.which(command[0]) is None:
        # Fails, not skips, when it is asked for.
        raise RuntimeError(f"there is no {command[0]}, which the tests of a cache need: install it")

    def answers(connection: socket.socket) -> bool:
        connection.sendall(request)
        return connection.recv(16).startswith(answer)

    with child_server.running(lambda port: [*command, str(port)], answers) as port:
        # Strict: errors are raised, and do not pass for an empty cache.
        strict = {"strict_read": True, "strict_write": True}
        if name == "redis":
            with redis.Redis(host="127.0.0.1", port=port) as connection:
                yield ndb.RedisCache(connection, **strict)
        else:
            client = pymemcache.Client(("127.0.0.1", port))
            yield ndb.MemcacheCache(client, **strict)
            client.close()


@contextmanager
def counted_calls() -> Iterator[list[str]]:
    """Give a list that the name of every call to the API is added to."""
    calls: list[str] = []
    make_call = _datastore_api.make_call

    def counting(name: str, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return make_call(name, *args, **kwargs)

    with mock.patch.object(_datastore_api, "make_call", counting):
        yield calls


def cached_entity(cache: Any, key: Any) -> Any:
    """Return the cached message of the entity of an ndb key."""
    (found,) = cache.get([_cache.global_cache_key(key._key)])
    assert found, "nothing is cached"
    return entity_pb2.Entity.deserialize(bytes(found))
