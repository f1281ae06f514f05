"""Fail unless the native backend was built and ``import lazyentity`` chose it.

Without a compiler the installation goes on with the pure backend; where there is one, as in
continuous integration, that must not go unnoticed.
"""

from __future__ import annotations

import lazyentity


def main() -> None:
    """Say which backend serves.

    Raises:
        SystemExit: it is not the native one.
    """
    if lazyentity.backend != "native":
        raise SystemExit(f"the backend is {lazyentity.backend!r}; the native one was not built")
    print(f"the backend is native: {lazyentity.__file__}")


if __name__ == "__main__":
    main()
