"""What is known of a client before anything of it is imported, and what can be found out then."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from packaging.version import InvalidVersion, Version

from lazyentity.patches.registry import Patch, Place, Seam


@dataclass(frozen=True)
class Client:
    """A client that can be patched.

    Attributes:
        name: what the user calls it.
        distribution: what is installed.
        package: what the application imports.
        supported: the versions, as in a requirement: a lowest one and the first beyond.
        conversion: the seam of the function that makes what a read returns.
        conversions: what converts in reading and writing: somebody else's stays in charge.
        patch: all its seams.
        over: the clients that it calls. It is patched only if they could be.
    """

    name: str
    distribution: str
    package: str
    supported: str
    conversion: Seam
    conversions: Sequence[Place]
    patch: Patch
    over: Sequence[Client] = ()

    def is_imported(self) -> bool:
        """Say whether somebody has imported it."""
        return sys.modules.get(self.package) is not None

    def version(self) -> str | None:
        """Return the version that was imported, else that installed; None, if nothing tells."""
        if self.is_imported():
            try:
                module = importlib.import_module(f"{self.package}.version")
            except ImportError:
                return None
            imported: str | None = getattr(module, "__version__", None)
            return imported
        # Importing it takes as long as importing lazyentity.
        from importlib import metadata

        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def problem(self) -> str | None:
        """Say why it cannot be patched; None, if nothing speaks against trying.

        As long as it is not imported, that is about versions alone.
        """
        for client in self.over:
            problem = client.problem() or client._failure_to_come()
            if problem is not None:
                return problem
        version = self.version()
        if version is None and not self.is_imported():
            return None
        if not is_supported(version, self.supported):
            return f"{self.distribution} {version} is not supported (supported: {self.supported})"
        return None

    def replaced_conversions(self) -> list[str]:
        """Say what somebody else put in place of which of the conversions."""
        return [
            f"{place} was replaced by {_name(place.current())}"
            for place in self.conversions
            if place.is_foreign()
        ]

    def failure(self, error: Exception) -> str:
        """Say that patching failed."""
        return f"{self.distribution} {self.version()} cannot be patched ({error})"

    def _failure_to_come(self) -> str | None:
        if self.is_imported() and not self.patch.active:
            try:
                self.patch.check()
            except Exception as error:  # noqa: BLE001  # a later version may differ in any way
                return self.failure(error)
        return None


def is_supported(version: str | None, supported: str) -> bool:
    """Say whether a version is in a range, which is written as ``>=lowest,<bound``."""
    # By release, so that a pre-release of the first version beyond the range is beyond it, too.
    # packaging.specifiers would do, at three times the cost of importing packaging.version.
    lowest, bound = (Version(part.lstrip("<>=")).release for part in supported.split(","))
    try:
        return lowest <= Version(version or "").release < bound
    except InvalidVersion:
        return False


def _name(function: Any) -> str:
    # A wrapper may have the name of what it wraps.
    if type(function) is FunctionType:
        return f"{function.__globals__.get('__name__')}.{function.__code__.co_name}"
    return repr(function)
