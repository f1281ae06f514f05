"""``python -m lazyentity.bench``: the same as ``python -m lazyentity bench``."""

import sys

from lazyentity.cli.dispatch import main

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:]]))
