"""``python -m lazyentity.snapshot``: as ``python -m lazyentity snapshot``."""

from lazyentity.snapshot.command import main

if __name__ == "__main__":
    main(prog_name="python -m lazyentity.snapshot")
