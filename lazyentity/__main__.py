"""``python -m lazyentity``: the commands, listed in :mod:`lazyentity.cli.dispatch`."""

from __future__ import annotations

from lazyentity.cli.entry import module

if __name__ == "__main__":
    module()
