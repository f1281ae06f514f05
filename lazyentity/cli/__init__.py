"""The command line: ``python -m lazyentity COMMAND``, and the script ``lazyentity-run``.

It is the room above all others: it imports the core, the patches and the benchmark, and nothing
imports it but the ``__main__`` modules.
"""
