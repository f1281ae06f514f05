"""``python -m lazyentity.bench``: the same as ``python -m lazyentity bench``."""

from lazyentity.cli.entry import bench

if __name__ == "__main__":
    bench()
