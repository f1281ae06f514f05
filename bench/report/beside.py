"""The tables of the rooms beside the core: packed documents, columns and adapters."""

from __future__ import annotations

from collections.abc import Iterator

from lazyentity.bench.measure.results import Results
from lazyentity.bench.report import adapter_goals
from lazyentity.bench.report.tables import Figure, Label, Table


def tables(results: Results) -> Iterator[Table]:
    """The tables of everything that the run measured of these rooms."""
    if results.packed:
        yield Table(
            "a document as embedded entities and packed, ms; write and read: conversion alone",
            "A document as embedded entities and packed, ms; write and read: conversion alone:",
            results.packed,
            (
                Label("document", "size"),
                Label("use", "use"),
                Label("bytes embedded", "embedded_bytes"),
                Label("bytes packed", "packed_bytes"),
            ),
            (
                Figure("stock", "stock", "ms", digits=2),
                Figure("lazy", "lazy", "ms", digits=2),
                Figure("packed", "packed", "ms", digits=2),
                Figure("stock / packed", "ratio"),
                Figure("lazy / packed", "over_lazy"),
            ),
        )
    if results.columns:
        yield Table(
            "a DataFrame of 6 of 60 properties of 200 entities, ms",
            "A DataFrame of 6 of 60 properties of 200 entities, ms:",
            results.columns,
            (Label("from", "source"),),
            (
                Figure("stock", "stock", "ms", digits=2),
                Figure("lazy", "lazy", "ms", digits=2),
                Figure("to_pandas", "columns", "ms", digits=2),
                Figure("columns", "lists", "ms", digits=2),
                Figure("entities alone", "entities_alone", "ms", digits=2),
                Figure("stock / to_pandas", "ratio"),
                Figure("lazy / to_pandas", "over_lazy"),
            ),
        )
    if results.columns_memory is not None:
        yield Table(
            "peak memory of a process that takes entities through column_batches(), MB",
            "Peak memory of a process that takes entities through column_batches(), MB:",
            (results.columns_memory,),
            (Label("entities", lambda line: f"{line.entities:,}"), Label("a batch", "batch")),
            (
                Figure("a hundredth of them", "few", "MB"),
                Figure("all", "all", "MB"),
                Figure("all / a hundredth", "ratio", digits=3),
            ),
        )
    if results.adapter_costs:
        yield Table(
            "calls of adapted libraries without entities, CPU time with adapters / without",
            "CPU time of a call that no entity is in, with adapters / without, while so many "
            "entities of which nothing was read are alive elsewhere in the process:",
            results.adapter_costs,
            (
                Label("library", "library"),
                Label("call", "use"),
                Label("goals", adapter_goals.goals_in_words),
                Label("missed", adapter_goals.missed_in_words),
            ),
            (
                Figure("without", "stock", "µs", digits=2),
                Figure("more, none alive", "more", "µs", digits=2),
                Figure("none alive", "none", digits=2),
                Figure("1 alive", "one", digits=2),
                Figure("10,000 alive", "many", digits=2),
            ),
        )
