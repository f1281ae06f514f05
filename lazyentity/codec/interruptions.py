"""Exceptions of signal handlers, told apart from errors of the code that they interrupt.

CPython runs a signal handler in the main thread, between two steps of the code that runs there. So
its exception comes out of code that raises errors by itself. Other threads run no handlers.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any


def is_of_handler(error: BaseException) -> bool:
    """Whether a signal handler raised an exception.

    CPython passes to a handler the frame that it interrupts, which other callers do not. A trace
    function gets that frame, too; its exceptions are as foreign to the interrupted code.

    A handler that is not written in Python has no frame, and is not recognised.

    Args:
        error: caught by the caller of this function.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return False
    codes = frozenset(_codes_of_handlers())
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        # By its code, because a handler may delete the argument.
        if frame.f_code in codes or _got_interrupted_frame(frame):
            return True
        traceback = traceback.tb_next
    return False


def raise_if_of_handler(error: BaseException) -> None:
    """Raise an error on, if :func:`is_of_handler` is true of it.

    Args:
        error: that the caller handles.
    """
    if is_of_handler(error):
        raise error


def error_of_handler(error: BaseException, handled: BaseException | None) -> BaseException | None:
    """Return the exception of a signal handler that an error is, or that it replaced.

    Libraries replace exceptions that pass through them: urllib3 does so with an ``OSError``.

    Args:
        error: as of :func:`is_of_handler`.
        handled: the exception that was handled when the code was called that raised. It is older
            than the call, and so are the exceptions before it.
    """
    found = None
    each: BaseException | None = error
    while each is not None and each is not handled:
        if is_of_handler(each):
            # The innermost: urllib3 gives the traceback of an exception to the one in its place.
            found = each
        each = each.__context__
    return found


def _codes_of_handlers() -> Iterator[CodeType]:
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        if isinstance(handler, MethodType):
            handler = handler.__func__
        if isinstance(handler, FunctionType):
            yield handler.__code__


def _got_interrupted_frame(frame: FrameType) -> bool:
    interrupted = frame.f_back
    if interrupted is None:
        return False
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    values = frame.f_locals
    for name in code.co_varnames[:count]:
        value = values.get(name)
        if value is interrupted:
            return True
        if type(value) is tuple and any(item is interrupted for item in value):
            return True
    return False
