"""Shared by the clients that have models: classes of entities with properties of their own."""
