"""In place of the package aiounittest, of which the client's tests use one class."""

from unittest import IsolatedAsyncioTestCase as AsyncTestCase

__all__ = ["AsyncTestCase"]
