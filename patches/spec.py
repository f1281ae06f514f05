"""A client that can be patched: its description, and the answers that need no import of it."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lazyentity._environment import is_native_expected
from lazyentity.codec.describing import safe_str
from lazyentity.patches.guard import Guard, name_of
from lazyentity.patches.registry import Patch, Seam


@dataclass(eq=False, kw_only=True)
class ClientSpec:
    """A client that can be patched.

    The module ``seams`` of its package describes a client, and imports nothing of it.
    :mod:`lazyentity.patches.clients` lists the clients.

    Attributes:
        name: the name that ``patch()`` takes: the package's name, with hyphens for underscores.
        distribution: the installed distribution.
        supported: the versions, as in a requirement: a lowest one and the first beyond.
        waits_for_import: the module whose import by the application starts the patching.
        seams: the attributes that are replaced.
        guard: the names that the fast paths go past. Somebody else's replacement stays in charge.
        uses: as for :class:`~lazyentity.patches.registry.Patch`.
        needs: modules that the replacements import. They are imported before the client is patched,
            because that may patch another client, whose replacements import the same modules.
        over: the names of the clients that it calls. It is patched only if they could be patched.
        conversion: the seam of the function that makes the result of a read, if there is one. A
            module that imported the function by name before goes on calling the original.
        wrapping: the function that ``wrap()`` calls for objects of the client, as ``module.name``
            within ``lazyentity.patches``; none for a client without one.
        needs_native: whether the client stays stock without the native backend.
        parts: modules of the client that an application may leave alone. Each is described like a
            client, without ``distribution``, ``supported`` and ``over``. They are
            patched and unpatched with this client.
        patch: all seams, to be replaced together.
        underneath: the clients of ``over`` and those that they are built on, lowest first; set on
            registration.
    """

    name: str
    waits_for_import: str
    seams: Sequence[Seam]
    guard: Guard = field(default_factory=Guard)
    distribution: str = ""
    supported: str = ""
    uses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    needs: Sequence[str] = ()
    over: Sequence[str] = ()
    conversion: Seam | None = None
    wrapping: str = ""
    needs_native: bool = False
    parts: Sequence[ClientSpec] = ()
    patch: Patch = field(init=False)
    underneath: tuple[ClientSpec, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        self.patch = Patch(self.seams, self.uses, self.guard)

    def build_on(self, clients: Sequence[ClientSpec]) -> None:
        """Set :attr:`underneath` to these clients and to those that they are built on."""
        below = [each for client in clients for each in (*client.underneath, client)]
        self.underneath = tuple(dict.fromkeys(below))
        for part in self.parts:
            part.distribution, part.supported = self.distribution, self.supported
            part.needs = (*self.needs, *part.needs)
            part.needs_native = self.needs_native
            part.build_on([self])

    def is_intact(self) -> bool:
        """Whether the guards of this client, and of those underneath, are intact."""
        return self.guard.is_intact() and all(each.guard.is_intact() for each in self.underneath)

    def with_parts(self) -> list[ClientSpec]:
        """Return this client and its parts."""
        return [self, *self.parts]

    def is_imported(self) -> bool:
        """Whether the application has imported the client."""
        return sys.modules.get(self.waits_for_import) is not None

    def import_needed(self) -> None:
        """Import :attr:`needs`.

        Raises:
            ImportError: if one cannot be imported.
        """
        for module in self.needs:
            importlib.import_module(module)

    def version(self) -> str | None:
        """Return the imported version, or else the installed one; None if neither is known."""
        if self.is_imported():
            try:
                module = importlib.import_module(f"{self.waits_for_import}.version")
            except ImportError:
                # Not every client has one.
                pass
            else:
                imported: str | None = getattr(module, "__version__", None)
                return imported
        return installed_version(self.distribution)

    def problem(self) -> str | None:
        """Return the reason why the client cannot be patched; None if there is none so far.

        Before the client is imported, only versions are checked.
        """
        if self.lacks_native():
            return f"{self.distribution} needs the native backend, which does not serve"
        for client in self.underneath:
            problem = client._unsupported() or client._failure_to_come()
            if problem is not None:
                return problem
        return self._unsupported()

    def lacks_native(self) -> bool:
        """Whether the client needs the native backend, and another one serves."""
        return self.needs_native and not is_native_expected()

    def _unsupported(self) -> str | None:
        version = self.version()
        if version is None and not self.is_imported():
            return None
        if not is_supported(version, self.supported):
            return f"{self.distribution} {version} is not supported (supported: {self.supported})"
        return None

    def _failure_to_come(self) -> str | None:
        if self.is_imported() and not self.patch.active:
            try:
                self.patch.check()
            except Exception as error:  # noqa: BLE001  # a later version may differ in any way
                return self.failure(error)
        return None

    def failure(self, error: Exception) -> str:
        """Return the reason to report for an error while patching."""
        return f"{self.distribution} {self.version()} cannot be patched ({safe_str(error)})"

    def replaced_names(self) -> list[str]:
        """Return a sentence for each name that somebody else replaced, here or underneath."""
        return [
            f"{path} was replaced by {name_of(path.current())}"
            for client in (*self.underneath, self)
            for path in client.guard.foreign()
        ]


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution; None if there is none."""
    # Importing it takes as long as importing lazyentity.
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def is_supported(version: str | None, supported: str) -> bool:
    """Whether a version is in a range, which is written as ``>=lowest,<bound`` or ``>=lowest``."""
    # By release, so that a pre-release of the first version beyond the range is beyond it, too.
    release = _release(version or "")
    lowest, *bound = (_release(part.lstrip("<>=")) for part in supported.split(","))
    return bool(release) and lowest <= release and all(release < each for each in bound)


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; none, if it is no version."""
    # Not by the library packaging: the application can have a module of that name.
    found = re.match(r"v?(?:\d+!)?(\d+(?:\.\d+)*)", version.strip(), re.ASCII)
    return tuple(map(int, found[1].split("."))) if found else ()
