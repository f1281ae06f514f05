"""``python -m lazyentity.bench``."""

from lazyentity.bench.cli import main

if __name__ == "__main__":
    main(prog_name="python -m lazyentity.bench")
