"""The command line: ``python -m lazyentity COMMAND``, and the script ``lazyentity-run``.

This package is above all others: it imports the core, the patches and the benchmark, and only the
``__main__`` modules import it.
"""
