"""The future of the model of a key, in place of the tasklet ``Context.get``.

ndb resumes its tasklet up to six times for a key that memcache lacks, and makes a future for each
of the calls that the tasklet waits for. Here the future itself goes on, at once, when a call ends.
The calls are the same as the tasklet's, in the same batches.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.appengine.api import datastore, memcache, namespace_manager
from google.appengine.datastore import datastore_rpc
from google.appengine.ext.ndb import context, eventloop, model, tasklets, utils
from google.protobuf.message import DecodeError

from lazyentity.codec.describing import safe_repr
from lazyentity.patches.appengine.messages import EntityProto
from lazyentity.patches.appengine.ndb.contexts import enqueue, is_add_replaced
from lazyentity.patches.appengine.ndb.debugging import describe_call
from lazyentity.patches.appengine.ndb.upstream import methods
from lazyentity.patches.appengine.ndb.values import LazyValues
from lazyentity.patches.appengine.ndb.writing import serialised
from lazyentity.patches.upstream import is_upstream

_Function = Callable[..., Any]

_METHODS = methods(
    context.Context,
    "_get_memcache_deadline",
    "_get_memcache_timeout",
    "_load_from_cache_if_available",
    "memcache_cas",
    "memcache_get",
    "memcache_gets",
    "memcache_set",
)
_BATCHER_METHODS = methods(context.AutoBatcher, "add_once", "run_queue")

_LOCKED = context._LOCKED
_LOCK_TIME = context._LOCK_TIME
_ABSENT = object()


def get(original: _Function, is_active: Callable[[], bool]) -> _Function:
    """Replace the tasklet ``Context.get``.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """
    function: Any = getattr(original, "__wrapped__", None)
    if not (is_upstream(original, tasklets) and is_upstream(function, context)):
        return original

    code = function.__code__
    described = f"{code.co_name}({Path(code.co_filename).name}:{code.co_firstlineno})"
    info = f"tasklet {described}"

    @functools.wraps(original)
    def get(self: Any, key: Any, **ctx_options: Any) -> Any:
        __ndb_debug__ = described  # noqa: F841  # ndb's get_stack() reads it
        if not is_active() or not _is_plain(self):
            return original(self, key, **ctx_options)
        future = Get(info)
        generator = functools.partial(function, self, key, **ctx_options)
        future._begin_later(generator, self, key, ctx_options)
        return future

    return get


def _is_plain(ctx: Any) -> bool:
    """Say whether a context does what ndb's own does, and nobody reads ndb's log of it."""
    return (
        _METHODS.are_upstream(ctx)
        and type(ctx._get_batcher) is type(ctx._memcache_get_batcher) is context.AutoBatcher
        and type(ctx._memcache_set_batcher) is context.AutoBatcher
        and _BATCHER_METHODS.are_upstream(context.AutoBatcher)
        and is_add_replaced()
        and not (utils.DEBUG and logging.getLogger().level < logging.DEBUG)
    )


def _thread_state() -> tuple[Any, ...]:
    """Return the context, the namespace and the connection of the thread.

    ndb's own functions also ask the environment whether a request has begun; the event loop has
    done that already.
    """
    return (
        tasklets._state.current_context,
        namespace_manager.get_namespace(),
        datastore._thread_local.connection_stack[-1],
    )


def _enter(state: tuple[Any, ...]) -> None:
    """Set the context, the namespace and the connection of the thread."""
    context, namespace, connection = state
    tasklets.set_context(context)
    namespace_manager.set_namespace(namespace)
    datastore._SetConnection(connection)


class _Call(tasklets.Future):  # type: ignore[misc]  # ndb has no types
    """The future of a call of a batch that a :class:`Get` waits for.

    Args:
        where: the functions that were being called when the key was asked for.
    """

    _context = None
    _done = False
    _exception = None
    _next = None
    _result = None
    _traceback = None

    def __init__(self, where: Any) -> None:
        # As Future itself, without its look at the call stack.
        self._where = where
        self._callbacks: list[Any] = []
        self._immediate_callbacks: list[Any] = []


class Get(tasklets.Future):  # type: ignore[misc]  # as above
    """The future of the model of a key."""

    _queue: Any = staticmethod(lambda *call: eventloop.queue_call(None, *call))
    """Has a function called in a separate event."""

    def _begin_later(self, generator: _Function, ctx: Any, key: Any, options: Any) -> None:
        """Begin when the event loop runs, as a tasklet does.

        Args:
            generator: makes the generator of ndb's own tasklet.
            ctx: the context that is asked.
            key: the key.
            options: keyword arguments of the tasklet.
        """
        self._generator = generator
        self._of = ctx
        self._key = key
        self._options = options
        self._context = tasklets.get_context()
        self._caller = namespace_manager.get_namespace(), datastore._GetConnection()
        eventloop.queue_call(None, self._start)

    def _start(self) -> None:
        """Take the first step; a tasklet that waits for nothing ends in the same event."""
        ends: list[tuple[Any, ...]] = []
        self._queue = lambda *end: ends.append(end)
        try:
            self._go_on(self._begin)
        finally:
            # Also after an interruption: what ends the future later must reach the event loop.
            del self._queue
        for function, *args in ends:
            function(*args)

    # Each step ends with a call to wait for, or with _end_later(). _go_on() runs the steps that may
    # call functions of the application.

    def _go_on(self, step: _Function, *args: Any) -> None:
        """Run a step in the context, namespace and connection of the caller, as a tasklet."""
        saved = _thread_state()
        own = self._context, *self._caller
        if own != saved:
            _enter(own)
        try:
            step(*args)
        except Exception as error:  # noqa: BLE001  # the future has it
            self._fail_later(error, error.__traceback__)
        finally:
            own = _thread_state()
            self._context, self._caller = own[0], own[1:]
            if own != saved:
                _enter(saved)

    def _begin(self) -> None:
        ctx, key = self._of, self._key
        options = self._options = context._make_ctx_options(self._options)
        self._use_cache = ctx._use_cache(key, options)
        if self._use_cache and self._is_in_cache():
            return
        self._use_datastore = ctx._use_datastore(key, options)
        if self._use_datastore and isinstance(ctx._conn, datastore_rpc.TransactionalConnection):
            self._use_memcache = False
        else:
            self._use_memcache = ctx._use_memcache(key, options)
        if not self._use_memcache:
            self._look_up()
            return
        namespace = key.namespace()
        if namespace is None:
            namespace = namespace_manager.get_namespace()
        self._memcache_key = ctx._memcache_prefix + key.urlsafe()
        self._memcache_options = namespace, ctx._get_memcache_deadline(options)
        self._wait_once(
            ctx._memcache_get_batcher,
            self._memcache_key,
            (self._use_datastore, *self._memcache_options),
            self._found_in_memcache,
        )

    def _is_in_cache(self) -> bool:
        """End, if the context has the model."""
        cached = self._of._cache.get(self._key, _ABSENT)
        if cached is _ABSENT or not (cached is None or cached._key == self._key):
            return False
        self._end_later(cached)
        return True

    def _found_in_memcache(self, value: Any) -> None:
        if self._use_cache and self._is_in_cache():
            return
        self._is_locked = value == _LOCKED
        if value is None or self._is_locked:
            self._missed(value)
        else:
            self._go_on(self._convert, value)

    def _convert(self, value: Any) -> None:
        ctx, key = self._of, self._key
        chosen = model.Model._lookup_model(key.kind(), ctx._conn.adapter.default_model)
        message = EntityProto()
        try:
            message.MergeFromString(value)
        except DecodeError:
            logging.warning(
                "Corrupt memcache entry found with key %s and namespace %s",
                self._memcache_key,
                key.namespace(),
            )
            self._missed(None)
            return
        found = chosen._from_pb(message)
        found._key = key
        values = found._values
        if type(values) is LazyValues:
            values._key = key
        if self._use_cache:
            ctx._cache[key] = found
        self._end_later(found)

    def _missed(self, value: Any) -> None:
        if value is not None or not self._use_datastore:
            self._look_up()
            return
        self._wait_once(
            self._of._memcache_set_batcher,
            (self._memcache_key, _LOCKED),
            ("set", _LOCK_TIME, *self._memcache_options),
            self._locked,
        )

    def _locked(self, _stored: Any) -> None:
        # This reads the number that the cas below needs.
        self._wait_once(
            self._of._memcache_get_batcher,
            self._memcache_key,
            (True, *self._memcache_options),
            lambda _value: self._look_up(),
        )

    def _look_up(self) -> None:
        if not self._use_datastore:
            self._end_later(None)
        elif self._use_cache:
            self._wait_once(self._of._get_batcher, self._key, self._options, self._looked_up)
        else:
            self._wait(self._of._get_batcher, self._key, self._options, self._looked_up)

    def _looked_up(self, found: Any) -> None:
        if found is None or not self._use_memcache or self._is_locked:
            self._end(found)
        else:
            self._go_on(self._put_into_memcache, found)

    def _put_into_memcache(self, found: Any) -> None:
        contents = serialised(found)
        if len(contents) > memcache.MAX_VALUE_SIZE:
            self._end(found)
            return
        time = self._of._get_memcache_timeout(self._key, self._options)
        if not isinstance(time, int):
            raise TypeError(f"time must be a number; received {safe_repr(time)}")
        self._wait(
            self._of._memcache_set_batcher,
            (self._memcache_key, contents),
            ("cas", time, *self._memcache_options),
            lambda _stored: self._end(found),
        )

    def _end(self, found: Any) -> None:
        if self._use_cache:
            self._of._cache[self._key] = found
        self._end_later(found)

    def _end_later(self, found: Any) -> None:
        # The application's callbacks run then, and may raise. So this waits until the batch has
        # given its results to all futures.
        self._queue(self.set_result, found)

    def _fail_later(self, error: BaseException, traceback: Any) -> None:
        self._queue(self._fail, error, traceback)

    def _fail(self, error: BaseException, traceback: Any) -> None:
        # ndb's own tasklet raises the error, so that ndb logs it.
        self._help_tasklet_along(*self._caller, self._generator(), exc=error, tb=traceback)

    # Waiting.

    def _wait_once(self, batcher: Any, arg: Any, options: Any, step: _Function) -> None:
        """As :meth:`_wait`; futures that wait for the same call share it, as with ``add_once``."""
        cache_key = arg, options
        call = batcher._cache.get(cache_key)
        if call is None:
            call = self._call(batcher, arg, options)
            batcher._cache[cache_key] = call
            call.add_immediate_callback(batcher._cache.__delitem__, cache_key)
        self._go_on_after(call, step)

    def _wait(self, batcher: Any, arg: Any, options: Any, step: _Function) -> None:
        """Add a call to a batch, and take a step when its result is there.

        Args:
            batcher: of the context.
            arg: the call's argument.
            options: the batch's options.
            step: called with the result.
        """
        self._go_on_after(self._call(batcher, arg, options), step)

    def _call(self, batcher: Any, arg: Any, options: Any) -> Any:
        call = _Call(self._where)
        describe_call(call, batcher, arg, options)
        return enqueue(batcher, call, arg, options)

    def _go_on_after(self, call: Any, step: _Function) -> None:
        self._next = call
        call.add_immediate_callback(self._ended, call, step)

    def _ended(self, call: Any, step: _Function) -> None:
        self._next = None
        error = call._exception
        if error is not None:
            self._fail_later(error, call._traceback)
            return
        try:
            step(call._result)
        except Exception as failure:  # noqa: BLE001  # the future has it
            self._fail_later(failure, failure.__traceback__)
