from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.patches.appengine.db.model_strategies import APP
from tests.patches.appengine.db.pairs import fixed_now


@pytest.fixture(autouse=True, scope="module")
def _application() -> Iterator[None]:
    """The environment of an application whose clock stands still."""
    with pytest.MonkeyPatch.context() as environment, fixed_now():
        environment.setenv("APPLICATION_ID", APP)
        yield
