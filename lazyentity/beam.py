"""Lazy reads of Datastore in pipelines of Apache Beam."""

from __future__ import annotations

try:
    from lazyentity.patches.beam.reads import ReadFromDatastore
except ImportError as error:
    raise ImportError(
        f"lazyentity.beam needs Apache Beam with its extra gcp ({error}); install it by "
        "pip install 'apache-beam[gcp]'"
    ) from error

__all__ = ["ReadFromDatastore"]
