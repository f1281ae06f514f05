"""Later versions of the clients: those that are installed, with one private name changed."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType

from tests.versions.names import API_PACKAGES, PACKAGES, names_in

_SUFFIX = "_of_later"
_CLIENTS = tuple(package for package in PACKAGES if package not in API_PACKAGES)


def _prefixes(packages: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{package}." for package in packages)


class LaterVersion(importlib.abc.MetaPathFinder):
    """Finds the modules of the clients with one name changed wherever it occurs.

    The client stays consistent: only one of its names is changed.

    Args:
        name: private to the clients; of a module, too.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.changed_name = name + _SUFFIX
        self._pattern = re.compile(rf"\b{name}\b")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not f"{fullname}.".startswith(_prefixes(PACKAGES)):
            return None
        if self.name in fullname.split("."):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        spec = PathFinder.find_spec(fullname.replace(self.changed_name, self.name), path, target)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return spec
        source = Path(spec.origin).read_text(encoding="utf-8")
        # Most sources do not have the letters of the name, which takes little time to see.
        has_name = self.name in source and self._pattern.search(source)
        if spec.name == fullname and not has_name:
            return spec
        return importlib.util.spec_from_file_location(
            fullname,
            spec.origin,
            loader=_Loader(fullname, spec.origin, self._pattern.sub(self.changed_name, source)),
            submodule_search_locations=spec.submodule_search_locations,
        )


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self._source.encode(), self.path)
        return code


def install(name: str) -> LaterVersion:
    """Simulate a later version of the clients.

    None of them is imported yet; the packages below them may be, if the name is not in them.
    """
    changed = PACKAGES if name in names_in(API_PACKAGES) else _CLIENTS
    assert not any(f"{module}.".startswith(_prefixes(changed)) for module in sys.modules)
    version = LaterVersion(name)
    sys.meta_path.insert(0, version)
    return version
