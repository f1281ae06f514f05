"""Ctrl-C in a process that makes bulk calls of a server that hangs, or is not available."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import grpc
import pytest

from tests.bulk.services import Call, refusal, served
from tests.support.subprocesses import clean_environment, last_line

pytestmark = pytest.mark.any_backend

# Without cancelling, the process goes on for a minute.
_SECONDS = 30
_STATUS = 128 + signal.SIGINT


@pytest.mark.skipif(os.name != "posix", reason="this system sends no signals to processes")
@pytest.mark.parametrize("transport", ["grpc", "http"])
@pytest.mark.parametrize("hangs", [True, False], ids=["hangs", "unavailable"])
@pytest.mark.parametrize("call", ["get", "put"])
def test_the_process_ends(call: str, transport: str, hangs: bool) -> None:
    """It ends long before the policy of retrying gives up, and its threads do not hold it up."""
    many_have_come, may_go = threading.Event(), threading.Event()
    left = [None] * 9

    def before(_: Call) -> None:
        if left:
            left.pop()
        else:
            many_have_come.set()
        if hangs:
            may_go.wait(120)
        raise refusal(grpc.StatusCode.UNAVAILABLE)

    with served() as running:
        running.service.before = before
        if hangs:
            # No more come.
            del left[5 if call == "get" else 9 :]
        arguments = ["-m", "tests.bulk.ctrl_c_program", call, transport]
        process = subprocess.Popen(
            [sys.executable, *arguments, str(running.ports[transport])],
            **clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert many_have_come.wait(60)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=_SECONDS)
        finally:
            process.kill()
            may_go.set()
    done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    assert last_line(done) == _STATUS
