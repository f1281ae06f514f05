"""The entry points: they handle Ctrl-C before anything that takes time is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable

_INTERRUPTED = 130
"""The exit status of a shell for a command that Ctrl-C ended."""


def module() -> None:
    """Run ``python -m lazyentity``.

    Raises:
        SystemExit: always, with the exit status.
    """

    def main() -> int:
        from lazyentity.cli.dispatch import main

        return main()

    _exit(main, "python -m lazyentity")


def bench() -> None:
    """Run ``python -m lazyentity.bench``.

    Raises:
        SystemExit: always, with the exit status.
    """

    def main() -> int:
        from lazyentity.cli.dispatch import main

        return main(["bench", *sys.argv[1:]])

    _exit(main, "python -m lazyentity bench")


def script() -> None:
    """Run ``lazyentity-run``.

    Raises:
        SystemExit: always, with the exit status.
    """

    def main() -> int:
        from lazyentity.cli.run import script

        return script()

    _exit(main, "lazyentity-run")


def _exit(main: Callable[[], int], program: str) -> None:
    try:
        status = main()
    except KeyboardInterrupt:
        # The commands handle it themselves; this one came before or after them.
        if sys.stderr is not None:
            sys.stderr.write(f"{program}: interrupted\n")
        status = _INTERRUPTED
    sys.exit(status)
