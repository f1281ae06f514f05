"""The cases of each client, or other subject. Its module has ``cases(plan)``, and imports it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from lazyentity.bench.harness import Case, Plan

NAMES = (
    "datastore",
    "ndb",
    "firestore",
    "firestore-growth",
    "appengine",
    "beam",
    "gcloud-aio",
    "adapters",
)


def cases(client: str, plan: Plan) -> Iterable[Case]:
    """The cases of a client.

    Raises:
        ImportError: the client is not installed.
    """
    module = importlib.import_module(f"{__name__}.{client.replace('-', '_')}")
    found: Iterable[Case] = module.cases(plan)
    return found
