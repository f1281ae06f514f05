"""The presentation of results: tables, a chart, goals, and the benchmark section of the README."""
