"""``python -m lazyentity.bench.server OPTIONS``: the server as a child process."""

import sys

from .command import child

if __name__ == "__main__":
    child(sys.argv[1])
