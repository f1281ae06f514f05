"""The results of a run: one schema for every client, in a file of JSON."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from google.protobuf.internal import api_implementation

import lazyentity
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.spec import installed_version

SCHEMA = 3

_PACKAGES = (
    "lazyentity",
    CLIENTS["datastore"].distribution,
    "protobuf",
    "proto-plus",
    "grpcio",
    "wrapt",
)


class ResultsError(Exception):
    """A results file cannot be read or written; the text says which and why."""


@dataclass(frozen=True)
class Summary:
    """The median and the quartiles of measurements, of which there were ``rounds``."""

    median: float
    q1: float
    q3: float
    rounds: int


def summarize(samples: Sequence[float], factor: float = 1) -> Summary:
    """The median and quartiles of ``samples``, times ``factor``: in another unit.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("no samples to summarize")
    scaled = [sample * factor for sample in samples]
    if len(scaled) == 1:
        return Summary(scaled[0], scaled[0], scaled[0], 1)
    q1, median, q3 = statistics.quantiles(scaled, n=4, method="inclusive")
    return Summary(median, q1, q3, len(scaled))


Unit = Literal["µs per entity", "ms per call", "bytes per entity"]
"""Microseconds of CPU time, milliseconds of wall time, or memory that Python holds."""


@dataclass(frozen=True)
class Line:
    """One case, with the stock client and with lazyentity.

    Attributes:
        section: the table of the case.
        case: the mix of types, or the call.
        entities: in a response or a call.
        properties: of each entity.
        done: with each entity, in words: ``4 read``, ``1 changed``.
        unit: of ``stock`` and ``lazy``.
        stock: the time of the stock client, or its memory.
        lazy: the same with lazyentity.
        ratio: stock over lazy, taken pair by pair.
        cpu_ratio: the same of CPU time; None if no time was measured.
    """

    section: str
    case: str
    entities: int
    properties: int
    done: str
    unit: Unit
    stock: Summary
    lazy: Summary
    ratio: Summary
    cpu_ratio: Summary | None = None


@dataclass(frozen=True)
class OwnCall:
    """A query of the user's own entities: milliseconds of wall time, with nothing decoded.

    ``rate`` is how many such calls a second the savings are given for.
    """

    entities: int
    rate: float
    undecoded: Summary


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

    def __str__(self) -> str:
        versions = ", ".join(
            f"{package} {version}"
            for package, version in self.versions.items()
            if package != "lazyentity"
        )
        return (
            f"{self.python}, {versions} ({self.protobuf_implementation}), {self.backend} backend; "
            f"{self.cpu}, {self.cores} cores, {self.system}"
        )


def _cpu_model() -> str:
    """The processor's name: `platform.processor` is empty on most Linux systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def describe() -> Environment:
    """The environment of this process."""
    # A client that is not imported is not measured.
    imported = (client.distribution for client in CLIENTS.values() if client.is_imported())
    packages = dict.fromkeys((*_PACKAGES, *imported))
    return Environment(
        backend=lazyentity.backend,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        protobuf_implementation=api_implementation.Type(),
        versions={package: installed_version(package) or "not installed" for package in packages},
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
    )


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Results:
    """One run.

    Attributes:
        client: that was measured.
        lines: the cases, in order.
        mode: ``own`` is a run on the user's own entities.
        source: names the user's own entities.
        own_call: the query of these.
        interrupted: whether the run ended early.
        date: of the end of the run.
        environment: of the run.
        schema: of the file.
    """

    client: str
    lines: list[Line]
    mode: Literal["quick", "full", "own"] = "full"
    source: str | None = None
    own_call: OwnCall | None = None
    interrupted: bool = False
    date: str = field(default_factory=_now)
    environment: Environment = field(default_factory=describe)
    schema: Annotated[int, msgspec.Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA


def load(path: Path) -> Results:
    """Read a results file.

    Raises:
        ResultsError: it cannot be read, or is no results file of this schema.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ResultsError(f"{path} is no results file of schema {SCHEMA}: {error}") from error


def check_writable(path: Path) -> None:
    """Check before a long measurement that its results can be written to ``path``.

    Raises:
        ResultsError: it cannot be opened for writing.
    """
    existed = path.exists()
    try:
        path.open("a", encoding="utf-8").close()
    except FileNotFoundError as error:
        raise ResultsError(f"cannot write {path}: there is no folder {path.parent}") from error
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}") from error
    if not existed:
        path.unlink()


def write(path: Path, results: Results) -> None:
    """Put the results in place of all that the file held.

    Raises:
        ResultsError: it cannot be written, a full disk for one.
    """
    text = msgspec.json.format(msgspec.json.encode(results), indent=1)
    try:
        path.write_bytes(text + b"\n")
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}") from error
