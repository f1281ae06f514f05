"""Memory that a snapshot of a document holds, measured from outside: the growth of a process."""

from __future__ import annotations

from lazyentity.bench.harness import processes
from lazyentity.bench.harness.stats import paired_ratio, summarize
from lazyentity.bench.measure import documents, firestore
from lazyentity.bench.measure.page_results import DocumentMemory
from lazyentity.bench.subjects.memory import resident

DOCUMENTS = 2000


def bytes_per_snapshot(side: str, mix: str, fields: int, count: int = DOCUMENTS) -> float:
    """The growth of this process for each snapshot that it holds, of which nothing was read."""
    collection_id = documents.collection(mix, fields)
    # A process has only one side: the snapshots of the other one would change its classes.
    with firestore.CONTEXTS[side]():
        convert = firestore.converter(side, collection_id)
        raws = [documents.query_response(collection_id, number) for number in range(count)]
        # The first ones pay for everything that a process makes once.
        for raw in raws[:50]:
            convert(raw)
        before = resident()
        # Each in its own bytes object, as if off the network.
        held = [convert(bytes(memoryview(raw))) for raw in raws]
        return (resident() - before) / len(held)


def measure(mix: str, fields: int, rounds: int) -> DocumentMemory:
    """Bytes held by a snapshot, by side.

    Raises:
        subprocess.CalledProcessError: a measuring process failed; its own error is on stderr.
    """
    held = processes.measure(bytes_per_snapshot, firestore.CONTEXTS, rounds, mix, fields)
    raw = documents.query_response(documents.collection(mix, fields), 0)
    return DocumentMemory(
        mix=mix,
        fields=fields,
        wire_bytes=len(raw),
        stock=summarize(held["stock"]),
        lazy=summarize(held["lazy"]),
        ratio=paired_ratio(held["lazy"], held["stock"]),
    )
