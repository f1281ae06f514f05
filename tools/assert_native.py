"""Fail unless the native backend was built, ``import lazyentity`` chose it, and it works.

Without a compiler the installation goes on with the pure backend. In continuous integration, which
has a compiler, and in a wheel, a missing native backend must not go unnoticed.
"""

from __future__ import annotations

from google.cloud.datastore import Entity

import lazyentity.auto
import lazyentity.bench
import lazyentity.patches
from lazyentity import _backend


def main() -> None:
    """Say which backend serves, and decode an entity with it.

    Raises:
        SystemExit: another backend serves, or the decoded entity is not the one that was encoded.
    """
    if lazyentity.backend != "native":
        raise SystemExit(f"the backend is {lazyentity.backend!r}: {_backend.obstacle}")
    entity = Entity()
    entity.update(text="a", number=1, flags=[True, None])
    decoded = lazyentity.LazyEntity.from_bytes(lazyentity.raw(entity))
    if decoded != entity:
        raise SystemExit(f"{entity} was decoded as {decoded}")
    print(f"the backend is native: {lazyentity.__file__}")


if __name__ == "__main__":
    main()
