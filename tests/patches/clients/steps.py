"""Takes steps of importing, patching and reading a client, and prints what the steps saw.

Run as ``python -m tests.patches.clients.steps SUBJECT PORT STEPS``, the steps separated by commas.
Imports nothing of the client or of lazyentity before a step says so.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from tests.patches.clients.subjects import SUBJECTS


def main(name: str, port: int, steps: list[str]) -> list[Any]:
    """Return the result of each ``read``, of each ``early``, and of ``patched()`` in the end.

    Args:
        name: of the subject.
        port: of its server.
        steps: to take, in their order.
    """
    subject = SUBJECTS[name]
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
            case "patch all" | "unpatch all":
                getattr(importlib.import_module("lazyentity"), step.partition(" ")[0])()
            case "patch" | "unpatch":
                getattr(importlib.import_module("lazyentity"), step)(subject.client)
            case _:
                raise ValueError(f"no such step: {step}")
    return [*seen, subject.client in sys.modules["lazyentity"].patched()]


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), sys.argv[3].split(","))))  # noqa: T201  # the answer
