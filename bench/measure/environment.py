"""The machine and the software that a measurement was made on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.internal import api_implementation

_PACKAGES = ("lazyentity", "google-cloud-datastore", "protobuf", "proto-plus", "grpcio", "wrapt")
_OTHER_CLIENTS = {
    "google-cloud-ndb": "google.cloud.ndb",
    "appengine-python-standard": "google.appengine",
}
"""Distributions that matter if their packages are imported."""


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
    others = [name for name, package in _OTHER_CLIENTS.items() if package in sys.modules]
    packages = (*_PACKAGES, *others)
    return Environment(
        backend=backend,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        protobuf_implementation=api_implementation.Type(),
        versions={package: _version(package) for package in packages},
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
    )
