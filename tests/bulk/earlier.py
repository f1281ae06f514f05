"""Snapshots of version 1, which had no checksums and no links."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def make_version_1(path: Path) -> None:
    """Turn a snapshot into one that version 1 wrote of the same entities."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            "BEGIN;"
            "ALTER TABLE settings RENAME TO old_settings;"
            "ALTER TABLE entities RENAME TO old_entities;"
            "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE entities (key BLOB PRIMARY KEY, content INTEGER NOT NULL) WITHOUT ROWID;"
            "INSERT INTO settings SELECT name, CAST(value AS TEXT) FROM old_settings "
            "WHERE name IN ('digest', 'entities', 'refreshed', 'source');"
            "INSERT INTO entities SELECT key, content FROM old_entities;"
            "DROP TABLE old_settings;"
            "DROP TABLE old_entities;"
            "PRAGMA user_version = 1;"
            "COMMIT;"
            "VACUUM;"
        )
