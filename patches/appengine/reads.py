"""A read converts in the mode of the thread or task that sent the request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyentity._mode import EAGER
from lazyentity.patches import announcement


def make_rpc_call(
    original: Callable[..., Any],
    connection: Any,
    config: Any,
    method: Any,
    request: Any,
    response: Any,
    get_result_hook: Any = None,
    user_data: Any = None,
    service_name: Any = None,
) -> Any:
    """Send a request as ``original`` does; convert its response in the mode of the sender."""
    if announcement.waiting:
        announcement.log()
    if get_result_hook is not None:
        get_result_hook = _in_mode_of_now(get_result_hook)
    return original(
        connection, config, method, request, response, get_result_hook, user_data, service_name
    )


def _in_mode_of_now(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    mode = EAGER.get()

    def convert(rpc: Any) -> Any:
        if EAGER.get() is mode:
            return hook(rpc)
        token = EAGER.set(mode)
        try:
            return hook(rpc)
        finally:
            EAGER.reset(token)

    return convert
