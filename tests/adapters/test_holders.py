"""Looking for classes that hold a replaced function runs no code of the application."""

from __future__ import annotations

import types
from typing import Any, NoReturn

import pytest

from lazyentity.patches.adapters import holders

pytestmark = pytest.mark.any_backend


class _Hostile(type):
    def __getattribute__(cls, name: str) -> NoReturn:
        raise RuntimeError(name)


def test_a_metaclass_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def function() -> None:
        """Is replaced."""

    module: Any = types.ModuleType("application")
    module.Model = _Hostile("Model", (), {"__module__": "application", "method": function})
    monkeypatch.setattr(holders, "loaded_modules", lambda: [("application", module)])
    found = holders.objects_holding({id(function)}, ())
    assert found == {id(function): ["application.Model"]}
