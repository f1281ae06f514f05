"""``python -m lazyentity``: the commands, listed in :mod:`lazyentity.cli.dispatch`."""

from __future__ import annotations

import sys

from lazyentity.cli.dispatch import main

if __name__ == "__main__":
    sys.exit(main())
