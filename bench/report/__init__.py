"""The presentation of results: tables, charts, goals, and the sections of the documentation."""
