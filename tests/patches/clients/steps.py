"""Takes steps of importing, patching and reading a client, and prints what the steps saw.

Run as ``python -m tests.patches.clients.steps SUBJECT PORT STEPS``, the steps separated by commas.
Imports nothing of the client or of lazyentity before a step says so.
"""

from __future__ import annotations

import importlib
import json
import sys
from types import ModuleType
from typing import Any

from tests.patches.clients.subjects import SUBJECTS

# Python adds these when a module raises a warning, when the annotations of a class are read, and
# when an instance is pickled.
ADDED_BY_PYTHON = ("__warningregistry__", "__annotations__", "__slotnames__", "__cached__")


def standing(package: str) -> dict[str, object]:
    """Return every attribute of the modules of a package, and of the classes in them, by path."""
    found: dict[str, object] = {}
    for name, module in [*sys.modules.items()]:
        if name.startswith(f"{package}.") and isinstance(module, ModuleType):
            spaces = {name: vars(module)}
            for kind in vars(module).values():
                if isinstance(kind, type) and kind.__module__ == name:
                    spaces[f"{name}.{kind.__qualname__}"] = dict(vars(kind))
            for space, values in spaces.items():
                found |= {f"{space}.{key}": value for key, value in values.items()}
    return {
        path: value
        for path, value in found.items()
        if path.rpartition(".")[2] not in ADDED_BY_PYTHON
    }


def main(name: str, port: int, steps: list[str]) -> list[Any]:
    """Return the results of the steps, and of ``patched()`` in the end.

    ``read`` and ``early`` have one, and ``changes``: the attributes of the client's package that
    have changed since ``note``. Attributes that are new do not count.

    Args:
        name: of the subject.
        port: of its server.
        steps: to take, in their order.
    """
    subject = SUBJECTS[name]
    package = subject.module.partition(".")[0]
    noted: dict[str, object] = {}
    seen: list[Any] = []
    for step in steps:
        match step:
            case "import":
                importlib.import_module(subject.module)
            case "auto":
                importlib.import_module("lazyentity.auto")
            case "early":
                seen.append(subject.module in sys.modules)
            case "read":
                seen.append(subject.is_lazy(port))
            case "note":
                noted = standing(package)
            case "changes":
                now = standing(package)
                # By identity: a wrapper can be equal to the function that it wraps.
                seen.append([path for path, value in noted.items() if now.get(path) is not value])
            case "patch all" | "unpatch all":
                getattr(importlib.import_module("lazyentity"), step.partition(" ")[0])()
            case "patch" | "unpatch":
                getattr(importlib.import_module("lazyentity"), step)(subject.client)
            case _:
                raise ValueError(f"no such step: {step}")
    return [*seen, subject.client in sys.modules["lazyentity"].patched()]


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), sys.argv[3].split(","))))  # noqa: T201  # the answer
