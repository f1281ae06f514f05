"""Global caches of ndb, their servers, and programs that use them.

Imports nothing of lazyentity: the process that stays stock runs these programs, too.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pymemcache
import pytest
import redis
from google.cloud import ndb
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.ndb import _cache, _datastore_api

from tests.support import child_server


def _required(executable: str) -> str:
    found = shutil.which(executable)
    if found is None:
        raise RuntimeError(
            f"the tests of a cache were asked for, but there is no {executable}: install it "
            f"(Debian, Ubuntu: apt-get install {executable}), or run `make test WHAT=caches`"
        )
    return found


def _pongs(connection: socket.socket) -> bool:
    connection.sendall(b"PING\r\n")
    return connection.recv(16).startswith(b"+PONG")


@contextmanager
def running_redis(folder: Path) -> Iterator[int]:
    """Run a Redis server that keeps everything in memory, and give its port on 127.0.0.1.

    Args:
        folder: where it runs; it writes nothing.

    Raises:
        RuntimeError: if redis-server is not installed, or if it does not start.
    """
    executable = _required("redis-server")

    def command(port: int) -> list[str]:
        options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
        return [executable, *options, "--dir", str(folder)]

    with child_server.running(command, _pongs) as port:
        yield port


def _tells_its_version(connection: socket.socket) -> bool:
    connection.sendall(b"version\r\n")
    return connection.recv(16).startswith(b"VERSION")


@contextmanager
def running_memcached() -> Iterator[int]:
    """Run a memcached server, and give its port on 127.0.0.1.

    Raises:
        RuntimeError: if memcached is not installed, or if it does not start.
    """
    executable = _required("memcached")

    def command(port: int) -> list[str]:
        options = ["--listen=127.0.0.1", f"--port={port}", "--udp-port=0"]
        # It does not run as root without being told to.
        return [executable, *options, *(["--user=root"] if os.geteuid() == 0 else [])]

    with child_server.running(command, _tells_its_version) as port:
        yield port


@contextmanager
def redis_cache(port: int) -> Iterator[Any]:
    """Give ndb's cache over the Redis server at ``port``."""
    with redis.Redis(host="127.0.0.1", port=port) as connection:
        # Strict: errors are raised, and do not pass for an empty cache.
        yield ndb.RedisCache(connection, strict_read=True, strict_write=True)


@contextmanager
def memcache_cache(port: int) -> Iterator[Any]:
    """Give ndb's cache over the memcached server at ``port``."""
    connection = pymemcache.Client(("127.0.0.1", port))
    try:
        yield ndb.MemcacheCache(connection, strict_read=True, strict_write=True)
    finally:
        connection.close()


CACHES = {"redis": redis_cache, "memcache": memcache_cache}
"""The caches that are servers."""

CACHE_SERVERS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in CACHES]


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


def cached_bytes(cache: Any, key: Any) -> bytes | None:
    """Return the cached bytes of the entity of an ndb key."""
    (found,) = cache.get([_cache.global_cache_key(key._key)])
    return None if found is None else bytes(found)


def parsed(raw: bytes | None) -> Any:
    """Return the entity message of cached bytes."""
    assert raw, "nothing is cached"
    return entity_pb2.Entity.deserialize(raw)
