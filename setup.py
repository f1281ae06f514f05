"""Build configuration: the contents of the distribution and where they are installed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup

HERE = Path(__file__).resolve().parent

# A build runs this file without its folder in sys.path.
sys.path.insert(0, str(HERE))

from tools.building import BuildNative  # noqa: E402  # found by the line above
from tools.clients import REQUIRED, clients, constant, extras  # noqa: E402  # found by the line above

# Folders beside the core that are installed inside it, under their names: a distribution must not
# drop top-level packages called "patches" and "bench" into site-packages. Links in lazyentity/ show
# them there in a checkout, to Python and to tools; a build needs none.
INSIDE = ("patches", "bench")


def packages() -> dict[str, str]:
    """Return every package of the distribution with the folder that holds it."""
    linked = [f"lazyentity.{folder}{below}" for folder in INSIDE for below in ("", ".*")]
    names = find_packages(str(HERE), include=["lazyentity", "lazyentity.*"], exclude=linked)
    found = {name: name.replace(".", "/") for name in names}
    for folder in INSIDE:
        found[f"lazyentity.{folder}"] = folder
        for name in find_packages(str(HERE / folder)):
            found[f"lazyentity.{folder}.{name}"] = f"{folder}/{name.replace('.', '/')}"
    return found


def package_dir() -> dict[str, str]:
    """Return the folders of the packages.

    In an editable installation, all packages are found below the checkout, by the links. So one
    .pth file leads there, which type checkers read. For folders of other names than the packages',
    setuptools installs an import hook, which they cannot read.
    """
    return {"": "."} if "editable_wheel" in sys.argv else PACKAGES


def description() -> str:
    """Return the README as a package index shows it, where no other file is there to link to.

    A link is its text and the path of its file in the source distribution; pictures are left out.
    """
    readme = (HERE / "README.rst").read_text(encoding="utf-8")
    readme = re.sub(r"^\.\. image:: .+\n(?: +.*\n)*", "", readme, flags=re.MULTILINE)
    return re.sub(r"`([^`<]+?)\s*<([^>:]+)>`__", r"\1 (``\2``)", readme)


def extensions() -> list[Extension]:
    """Return the extensions of the native backend, which need not compile."""
    return [
        # Other files in that folder are included by these.
        Extension(name, [f"{name.replace('.', '/')}.pyx"], optional=True)
        for name in constant("lazyentity/_environment.py", "NATIVE_MODULES")
    ]


PACKAGES = packages()
REQUIRED_CLIENT = [client.requirement for client in clients() if client.name == REQUIRED]
REQUIREMENTS = ["proto-plus>=1.25", "protobuf>=4.25", "wrapt>=2"]
PYTHONS = constant("lazyentity/_version.py", "PYTHONS")

setup(
    name="lazyentity",
    version=constant("lazyentity/_version.py", "__version__"),
    description=(
        "Lazy entities for google-cloud-datastore and its relatives: a property is decoded when it "
        "is read"
    ),
    long_description=description(),
    long_description_content_type="text/x-rst",
    license_expression="Apache-2.0",
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
    install_requires=[*REQUIRED_CLIENT, *REQUIREMENTS],
    extras_require={
        # The commands that measure, on the user's own entities too.
        "bench": ["click>=8", "google-api-core>=2.11", "grpcio>=1.59", "msgspec>=0.18", "rich>=13"],
        "snapshot": ["click>=8", "rich>=13", "zstandard>=0.22"],
        # An extra adds requirements and takes none away: the other clients bring this one, too.
        REQUIRED: REQUIRED_CLIENT,
        "arrow": ["pyarrow>=17"],
        "packed": ["orjson>=3.10", "zstandard>=0.22"],
        "pandas": ["pandas>=2.2"],
        **extras(),
    },
    packages=list(PACKAGES),
    package_dir=package_dir(),
    package_data={"lazyentity": ["py.typed"], "lazyentity.native": ["*.pyi"]},
    entry_points={
        "console_scripts": [
            "lazyentity = lazyentity.cli.dispatch:main",
            "lazyentity-run = lazyentity.cli.run:script",
        ]
    },
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildNative},
    options={"build_ext": {"parallel": str(os.cpu_count() or 1)}},
    zip_safe=False,
)
