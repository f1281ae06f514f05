"""The command of setup.py that compiles the native backend, where it can be compiled."""

from __future__ import annotations

import multiprocessing
import os
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

from tools import native
from tools.clients import constant

# Kept in the checkout: one Python generates the C files, the others compile them too.
GENERATED = "build/cython"
# Without debugging information, compiling takes less time and a wheel less room. The flag follows
# Python's own: with setuptools 84, a variable CFLAGS would replace Python's flags, -O3 among them.
# In a file as large as entities.c, gcc's limit of growth would stop it from inlining readers of
# the wire format, and eager decoding would take longer. clang has no such limit, and would warn.
FLAGS = ("-g0", "--param=inline-unit-growth=100", "-Wno-unused-command-line-argument")


class BuildNative(build_ext):
    """Compiles the whole native backend, or leaves it out.

    A distribution without it is pure Python, and its wheel gets the tag of pure Python. pip keeps
    the wheels that it builds: a wheel tagged for a platform would pass for one with the backend.
    """

    def run(self) -> None:
        """Compile, unless the checkout has the modules of these sources for this Python."""
        if not (self.inplace and native.is_current()):
            super().run()

    def build_extensions(self) -> None:
        """Compile the extensions; if one does not compile, build none."""
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            self._leave_out("it does not support free-threaded Python", "run the default build")
            return
        problem = self._problem_of_compiler()
        if problem is None:
            self._generate()
            if self.compiler.compiler_type == "unix" and "CFLAGS" not in os.environ:
                for extension in self.extensions:
                    extension.extra_compile_args = [*FLAGS]
            self._compiled: set[str] = set()
            super().build_extensions()
            failed = {extension.name for extension in self.extensions} - self._compiled
            if not failed:
                return
            problem = f"the compiler failed for {', '.join(sorted(failed))}, see above"
        self._leave_out(problem, constant("lazyentity/_environment.py", "BUILD_IT"))

    def build_extension(self, ext: Extension) -> None:
        """Compile one extension, and remember that it was compiled."""
        super().build_extension(ext)
        self._compiled.add(ext.name)

    def copy_extensions_to_source(self) -> None:
        """Put the compiled modules into the checkout, in place of all that are there.

        Modules that earlier sources were compiled to could still be imported.
        """
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        for folder in {Path(*extension.name.split(".")[:-1]) for extension in self.extensions}:
            for earlier in folder.glob(f"*{suffix}"):
                earlier.unlink()
        super().copy_extensions_to_source()

    def _problem_of_compiler(self) -> str | None:
        """Compile a header of Python, which takes less time than generating the C files."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text("#include <Python.h>\n", encoding="utf-8")
            try:
                self.compiler.compile([str(source)], output_dir=folder)
            except (BaseError, CCompilerError) as error:
                return f"there is no C compiler with the headers of Python ({error})"
        return None

    def _generate(self) -> None:
        """Generate the C files that are missing or out of date, on all cores."""
        # Other ways to start a process run setup.py again in each.
        is_forking = multiprocessing.get_start_method() == "fork"
        generated = cythonize(
            [Extension(extension.name, extension.sources) for extension in self.extensions],
            nthreads=(os.cpu_count() or 1) if is_forking else 0,
            build_dir=GENERATED,
        )
        sources = {extension.name: extension.sources for extension in generated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]

    def _leave_out(self, problem: str, remedy: str) -> None:
        for extension in self.extensions:
            Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
        self.extensions = []
        self.distribution.ext_modules = []
        wheel: Any = self.distribution.get_command_obj("bdist_wheel", create=False)
        if wheel is not None:
            # setuptools determined this before anything was compiled.
            wheel.root_is_pure = True
        self.warn(
            f"lazyentity is built without its native backend: {problem}. The pure backend, which "
            f"is slower, serves; to get the native one, {remedy}."
        )
