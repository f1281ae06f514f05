"""ndb clients of a server on this machine."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

from google.cloud import ndb
from google.cloud.environment_vars import GCD_HOST

from tests.support.clients import PROJECT


def make_client(host: str, **options: Any) -> Any:
    """Return an ndb client of the server at ``host``, regardless of the environment.

    Args:
        host: name and port of a Datastore server that speaks gRPC.
        options: arguments of ``ndb.Client``.
    """
    # ndb connects without encryption and credentials only to a server that is named so.
    with mock.patch.dict(os.environ, {GCD_HOST: host}):
        return ndb.Client(**{"project": PROJECT, **options})
