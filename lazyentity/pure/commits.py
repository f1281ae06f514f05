"""Commits: the mutations of a request around entities and keys in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lazyentity.codec import shadow


def mutation_parts(mutations: Iterable[Mapping[str, bytes]]) -> list[bytes]:
    """As :meth:`lazyentity._backend.abc.Backend.mutation_parts`."""
    return [shadow.CommitMutations(mutations=mutations).SerializeToString()]
