"""Runs modules of tests of CPython's own, and records the outcome of each test.

It runs inside a subprocess, as ``python program.py MODULE...``.
"""

from __future__ import annotations

import importlib
import sys
import unittest
from typing import Any

import recorder  # type: ignore[import-not-found]  # PYTHONPATH of the subprocess has it


class _Result(unittest.TextTestResult):
    def startTest(self, test: Any) -> None:  # noqa: N802  # unittest's
        super().startTest(test)
        recorder.keep(test.id(), "passed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802  # unittest's
        super().addSubTest(test, subtest, err)
        if err is not None:
            recorder.keep(subtest.id(), "failed")

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802  # unittest's
        super().addError(test, err)
        recorder.keep(test.id(), "failed")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802  # unittest's
        super().addFailure(test, err)
        recorder.keep(test.id(), "failed")

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802  # unittest's
        super().addSkip(test, reason)
        recorder.keep(test.id(), "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802  # unittest's
        super().addExpectedFailure(test, err)
        recorder.keep(test.id(), "failed as expected")


def main(modules: list[str]) -> bool:
    """Run the tests; return whether all passed."""
    recorder.begin()
    loader = unittest.TestLoader()
    tests = unittest.TestSuite(
        loader.loadTestsFromModule(importlib.import_module(name)) for name in modules
    )
    kind: Any = _Result
    result = unittest.TextTestRunner(resultclass=kind).run(tests)
    recorder.end()
    return result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
