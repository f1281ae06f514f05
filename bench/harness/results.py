"""The results file of every benchmark: where and when it ran, and what it measured."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints

import msgspec
from google.protobuf.internal import api_implementation

import lazyentity
from lazyentity.bench.harness import lines
from lazyentity.bench.harness.stats import Summary
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


class ResultsError(Exception):
    """A results file cannot be read or written; the text says which and why."""


def dump(contents: object) -> str:
    """The text of a results file, the same for the same contents."""
    return msgspec.json.encode(contents).decode() + "\n"


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    """Check before a long measurement that its results can be written to ``path``.

    The contents of a file stay. A file that did not exist is made, and removed again when the block
    raises.

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
    try:
        yield
    except BaseException:
        if not existed:
            path.unlink()
        raise


def write(path: Path, text: str) -> None:
    """Put ``text`` in place of all that the file held.

    Raises:
        ResultsError: it cannot be written, a full disk for one.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}") from error


SCHEMA = 2

BIAS = (
    "One machine, synthetic entities whose bytes stay warm in its caches, and no network but the "
    "loopback interface: a real service adds latency that no decoder can take away. Ratios are "
    "taken pair by pair from interleaved rounds; the garbage collector is off while the clock runs."
)
"""The bias of every figure; shown wherever figures are shown."""

OWN_BIAS = (
    "Your entities, on this machine: their bytes stay warm in its caches, and the garbage "
    "collector is off while the clock runs. A call is the query as this machine sends it, timed "
    "with nothing decoded; the CPU time of decoding is taken by itself, on the same bytes, and "
    "added."
)
"""The bias of a run on the user's own entities."""

Mode = Literal["quick", "full", "own"]


@dataclass(frozen=True)
class Results:
    """One run. Mode ``own`` is a run on the user's own entities, which ``source`` names.

    An ``interrupted`` run ended early. A run measures some of the sections; the others are empty.
    The benchmarks of the documentation add sections in a subclass.
    """

    schema: Annotated[int, msgspec.Meta(ge=SCHEMA, le=SCHEMA)]
    date: str
    mode: Mode
    environment: Environment
    source: str | None = None
    bias: str = BIAS
    interrupted: bool = False
    conversion: list[lines.Conversion] = field(default_factory=list)
    read_modify_write: list[lines.ReadModifyWrite] = field(default_factory=list)
    puts: list[lines.Put] = field(default_factory=list)
    document_floor: lines.DocumentFloor | None = None
    memory: list[lines.Memory] = field(default_factory=list)
    new_names: list[lines.NewNames] = field(default_factory=list)
    own_call: lines.OwnCall | None = None
    end_to_end: list[lines.EndToEnd] = field(default_factory=list)
    scaling: list[lines.Scaling] = field(default_factory=list)
    plain_values: list[lines.PlainValues] = field(default_factory=list)
    import_ms: Summary | None = None
    access: lines.Access | None = None
    adapted: list[lines.Adapted] = field(default_factory=list)
    packed: list[lines.Packed] = field(default_factory=list)
    columns: list[lines.Columns] = field(default_factory=list)
    columns_memory: lines.ColumnsMemory | None = None
    adapter_costs: list[lines.AdapterCost] = field(default_factory=list)

    @property
    def has_floor(self) -> bool:
        """Whether calls were measured with nothing decoded as well."""
        return any(line.floor is not None for line in self.end_to_end)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a results file.

        Raises:
            ResultsError: it cannot be read, or is no results file of this schema.
        """
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except OSError as error:
            raise ResultsError(f"cannot read {path}: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise ResultsError(f"{path} is no results file of schema {SCHEMA}: {error}") from error

    @classmethod
    def of(
        cls,
        parts: Iterable[object],
        mode: Mode = "full",
        source: str | None = None,
        interrupted: bool = False,
    ) -> Self:
        """Put the lines of a run that ends here and now into the sections of their types."""
        measured = list(parts)
        sections: dict[str, Any] = {}
        for name, hint in get_type_hints(cls).items():
            kind, *_ = get_args(hint) or (None,)
            if isinstance(kind, type) and kind is not str:
                found = [part for part in measured if isinstance(part, kind)]
                sections[name] = found if get_origin(hint) is list else next(iter(found), None)
        return cls(
            schema=SCHEMA,
            date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            mode=mode,
            environment=describe(lazyentity.backend),
            source=source,
            bias=OWN_BIAS if mode == "own" else BIAS,
            interrupted=interrupted,
            **sections,
        )


load = Results.load


def with_calls(earlier: Results, later: Results) -> Results:
    """Return results with the lines of calls that a later run of the same mode measured anew.

    Raises:
        ResultsError: the later run is of another mode, or of another environment.
    """
    if (later.mode, later.environment) != (earlier.mode, earlier.environment):
        raise ResultsError(
            "the results that were to be completed are of another mode or environment; measure all"
        )
    calls = {line.call for line in later.end_to_end}
    kept = [line for line in earlier.end_to_end if line.call not in calls]
    costs = {
        (line.library, line.use): line for line in (*earlier.adapter_costs, *later.adapter_costs)
    }
    return replace(
        earlier, end_to_end=[*kept, *later.end_to_end], adapter_costs=list(costs.values())
    )
