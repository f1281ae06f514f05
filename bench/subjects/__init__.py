"""The measurements that ``python -m lazyentity.bench`` makes.

Each ``measure`` compares the results of the sides, including the last timed round. It raises
`verify.OutputMismatch` if they differ, as do the functions that compare; a `KeyError` if there is
no such case; and `subprocess.CalledProcessError` if a measuring process failed, whose own
error is on stderr.
"""
