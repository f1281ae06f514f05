"""Patch every supported client when imported: ``import lazyentity.auto``.

One line is logged to the logger ``lazyentity`` at level INFO: the clients, their versions, whether
they are patched, and the backend. :func:`lazyentity.patch` says when.
"""

from __future__ import annotations

from lazyentity._environment import is_disabled


def _patch() -> None:
    try:
        from lazyentity import patch
    except Exception as error:  # noqa: BLE001  # a module of the application's may raise any
        # A module of the application can shadow a module of the standard library.
        import warnings

        warnings.warn(
            f"lazyentity: cannot be imported here, and patches nothing ({error!r}); look for a "
            "module of the application that has the name of one of Python's, and rename it",
            RuntimeWarning,
            stacklevel=3,
        )
    else:
        patch()


if not is_disabled():
    _patch()
