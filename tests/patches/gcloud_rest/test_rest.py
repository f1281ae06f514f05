"""The tests that both clients of the REST API pass, with gcloud-rest-datastore."""

from __future__ import annotations

import _thread
import sys
import threading
from typing import Any
from unittest import mock

import pytest

import lazyentity
from tests.patches.conftest import Ports
from tests.patches.rest.clients import RestClient
from tests.patches.rest.conversions import ConversionCases
from tests.patches.rest.reads import ReadCases

pytestmark = pytest.mark.any_backend


class TestClient(ConversionCases, ReadCases):
    client = RestClient("gcloud-rest")

    def test_a_thread_that_begins_with_a_request(self, ports: Ports) -> None:
        """No function calls it there, nor in a greenlet."""
        sent = threading.Event()

        def note(*_: Any, **__: Any) -> None:
            sent.set()
            sys.exit()

        lazyentity.patch(self.client.name)
        with self.client.connected(ports["http"]) as call:
            datastore = call.datastore
            post = datastore._post if self.client.has_post else datastore.session.post
            with mock.patch.object(datastore.session.session, "post", note):
                _thread.start_new_thread(post, (f"{datastore._api_root}:lookup", {}))
                assert sent.wait(10)
