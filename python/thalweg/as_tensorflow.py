# SPDX-License-Identifier: Apache-2.0
"""Programs that import tensorflow run on Thalweg:

    python -m thalweg.as_tensorflow PROGRAM ARGS        or -m MODULE ARGS, or -c CODE ARGS
    import thalweg.as_tensorflow                        before the first import of tensorflow

From then on `tensorflow`, `tensorflow.compat.v1`, `tensorflow.contrib.X`, `tensorflow.python.X`, `tensorflow.core.X` and
`tensorflow_estimator` are Thalweg's, whether a TensorFlow is installed or not; and names that Python and numpy had in those years are back.
"""
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys
import types

import thalweg
from thalweg.base import names
from thalweg.compatibility import old_python, stand_ins
from thalweg.compatibility.tensorflow_module import TensorFlow

VERSION = "1.15.0"  # what the program finds as tf.__version__
PRODUCER = 134  # of graphs of that release: they keep its rules, where later ones refuse more


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of TensorFlow in Thalweg."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] not in ("tensorflow", "tensorflow_estimator"):
            return None
        if names.is_absent(fullname.removeprefix("tensorflow.").removeprefix("compat.v1.")):
            raise ModuleNotFoundError(f"{fullname} of TensorFlow 1.15 is not implemented in Thalweg", name=fullname)
        module = stand_ins.module(fullname)
        if module is None:
            raise ModuleNotFoundError(f"No module named {fullname!r} in TensorFlow 1.15, for which Thalweg stands in",
                                      name=fullname)
        if module is thalweg:
            module = thalweg.compat.v1
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.loader_state = module, getattr(module, "__spec__", None)
        return spec

    def create_module(self, spec):
        return spec.loader_state[0]

    def exec_module(self, module):
        """The module is complete; what the import has written over is put back."""
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None and spec.loader_state[1] is not None:
            module.__spec__ = spec.loader_state[1]


def install() -> None:
    """Stands in for tensorflow from now on; a TensorFlow that is loaded already is an error."""
    if any(isinstance(f, _Finder) for f in sys.meta_path):
        return
    if "tensorflow" in sys.modules:
        raise ImportError("thalweg.as_tensorflow must be imported before tensorflow")
    old_python.restore()
    thalweg.compat.v1 = TensorFlow()
    thalweg.__version__ = thalweg.VERSION = VERSION
    thalweg.Graph._made_as = thalweg.GraphDef(versions=thalweg.messages.VersionDef(producer=PRODUCER)).SerializeToString()
    sys.meta_path.insert(0, _Finder())


def _refuse(status, what):
    sys.stderr.write(f"thalweg.as_tensorflow: {what}\n")
    return status


def _run_code(code):
    """Runs a text as the main module, as python -c does."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(code, "<string>", "exec"), module.__dict__)


def _has_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        return False


def main(argv: list[str]) -> int:
    """Runs a program as python itself would; what the process is to exit with."""
    if len(argv) < 2 or argv[1] in ("-h", "--help") or argv[1] in ("-m", "-c") and len(argv) < 3:
        sys.stderr.write("usage: python -m thalweg.as_tensorflow [-m MODULE | -c CODE | PROGRAM] [ARGUMENT ...]\n")
        return 2
    sys.modules.setdefault("thalweg.as_tensorflow", sys.modules[__name__])  # for programs that import it themselves
    install()
    if argv[1] == "-c":
        sys.argv = ["-c", *argv[3:]]
        sys.path[0] = ""
        _run_code(argv[2])
    elif argv[1] == "-m":
        sys.argv = argv[2:]
        sys.path[0] = os.getcwd()
        if not _has_module(argv[2]):
            return _refuse(1, f"No module named {argv[2]}")
        runpy.run_module(argv[2], run_name="__main__", alter_sys=True)
    else:
        if not os.path.exists(argv[1]):
            return _refuse(2, f"can't open file {argv[1]!r}: No such file or directory")
        sys.argv = argv[1:]
        sys.path[0] = os.path.dirname(os.path.abspath(argv[1]))
        runpy.run_path(argv[1], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
install()
