"""Resuming the generators of tasklets, and the state of the thread in which they run."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from google.appengine.api import apiproxy_stub_map, datastore, namespace_manager
from google.appengine.datastore import datastore_rpc
from google.appengine.ext.ndb import eventloop, tasklets, utils

from lazyentity.patches.upstream import is_upstream

_RPCS = apiproxy_stub_map.UserRPC, datastore_rpc.MultiRpc


def thread_state() -> tuple[Any, ...]:
    """Return the context, the namespace and the connection of the thread.

    ndb's own functions also ask the environment whether a request has begun; the event loop has
    done that already.
    """
    return (
        tasklets._state.current_context,
        namespace_manager.get_namespace(),
        datastore._thread_local.connection_stack[-1],
    )


def enter(state: tuple[Any, ...]) -> None:
    """Make a context, a namespace and a connection those of the thread."""
    context, namespace, connection = state
    tasklets.set_context(context)
    namespace_manager.set_namespace(namespace)
    datastore._SetConnection(connection)


def help_tasklet_along(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace ``Future._help_tasklet_along``, which resumes the generator of a tasklet.

    The replacement leaves the thread's state alone where it is already right.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """
    if not is_upstream(original, tasklets):
        return original

    @functools.wraps(original)
    def _help_tasklet_along(
        self: Any, ns: Any, ds_conn: Any, gen: Any, val: Any = None, exc: Any = None, tb: Any = None
    ) -> None:
        saved = thread_state() if is_active() and exc is None and not _is_logged() else None
        if saved != (self._context, ns, ds_conn):
            original(self, ns, ds_conn, gen, val, exc, tb)
            return
        info = utils.gen_info(gen)
        __ndb_debug__ = info  # noqa: F841  # ndb's get_stack() reads it
        try:
            try:
                value = gen.send(val)
                self._context = tasklets._state.current_context
            finally:
                left = thread_state()
                if left != saved:
                    enter(saved)
        except (StopIteration, tasklets.Return) as result:
            self.set_result(tasklets.get_return_value(result))
        except Exception as error:  # noqa: BLE001  # the future has it
            if not isinstance(error, tasklets._flow_exceptions):
                logging.warning("%s raised %s(%s)", info, type(error).__name__, error)
            self.set_exception(error, error.__traceback__)
        else:
            _wait_for(self, value, left[1:], gen, info)

    return _help_tasklet_along


def _is_logged() -> bool:
    """Say whether ndb logs what it does."""
    return bool(utils.DEBUG) and logging.getLogger().level < logging.DEBUG


def _wait_for(future: Any, value: Any, caller: tuple[Any, ...], gen: Any, info: Any) -> None:
    """Resume the generator of a future when the value that it yielded is done.

    Args:
        future: of a tasklet.
        value: yielded by the generator.
        caller: the namespace and the connection in which the generator goes on.
        gen: the generator.
        info: a text that tells the generator.

    Raises:
        RuntimeError, NotImplementedError: as ndb, if the value is none to wait for.
    """
    if isinstance(value, _RPCS):
        eventloop.queue_rpc(value, future._on_rpc_completion, value, *caller, gen)
        return
    if isinstance(value, tasklets.Future):
        if future._next:
            raise RuntimeError(f"Future has already completed yet next is {future._next!r}")
        future._next = value
        future._geninfo = utils.gen_info(gen)
    elif isinstance(value, (tuple, list)):
        value = _all_of(value, utils.gen_info(gen))
    elif tasklets._is_generator(value):
        raise NotImplementedError("Cannot defer to another generator.")
    else:
        raise RuntimeError(
            f"A tasklet should not yield a plain value: {info!s:.200} yielded {value!r:.200}"
        )
    value.add_callback(future._on_future_completion, value, *caller, gen)


def _all_of(values: Any, info: Any) -> Any:
    future = tasklets.MultiFuture(f"multi-yield from {info}")
    try:
        for each in values:
            future.add_dependent(each)
        future.complete()
    except Exception as error:  # noqa: BLE001  # the future has it
        future.set_exception(error, error.__traceback__)
    return future
