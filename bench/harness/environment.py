"""The machine and the software that a measurement was made on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.internal import api_implementation

from lazyentity.patches.clients import CLIENTS

_PACKAGES = (
    "lazyentity",
    CLIENTS["datastore"].distribution,
    "protobuf",
    "proto-plus",
    "grpcio",
    "wrapt",
)


@dataclass(frozen=True)
class Environment:
    """Versions by package name, and the machine. ``backend`` is lazyentity's."""

    backend: str
    python: str
    protobuf_implementation: str
    versions: dict[str, str]
    cpu: str
    cores: int
    system: str


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _cpu_model() -> str:
    """The processor's name: `platform.processor` is empty on most Linux systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def describe(backend: str) -> Environment:
    """The environment of this process; ``backend`` is lazyentity's."""
    # A client that is not imported is not measured.
    imported = (client.distribution for client in CLIENTS.values() if client.is_imported())
    packages = dict.fromkeys((*_PACKAGES, *imported))
    return Environment(
        backend=backend,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        protobuf_implementation=api_implementation.Type(),
        versions={package: _version(package) for package in packages},
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
    )
