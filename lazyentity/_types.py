"""How error messages name what was given."""

from __future__ import annotations


def describe_type(given: object) -> str:
    """Return the qualified name of the type of ``given``, without ``builtins``."""
    kind = type(given)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"
