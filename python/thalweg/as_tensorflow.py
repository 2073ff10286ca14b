# SPDX-License-Identifier: Apache-2.0
"""Programs that import tensorflow run on Thalweg:

    python -m thalweg.as_tensorflow PROGRAM ARGS        or -m MODULE ARGS
    import thalweg.as_tensorflow                        before the first import of tensorflow

From then on `tensorflow`, `tensorflow.compat.v1`, `tensorflow.contrib.X`, `tensorflow.python.X` and `tensorflow.core.X` are
Thalweg's, whether a TensorFlow is installed or not. The launcher restores names that Python and numpy had in those years, too.
"""
import importlib.abc
import importlib.machinery
import sys

import thalweg
from thalweg import stand_ins

VERSION = "1.15.0"  # what the program finds as tf.__version__


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of TensorFlow in Thalweg."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "tensorflow" and not fullname.startswith("tensorflow."):
            return None
        module = stand_ins.module(fullname)
        if module is None:
            raise ModuleNotFoundError(f"No module named {fullname!r} in TensorFlow 1.15, for which Thalweg stands in",
                                      name=fullname)
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


def install():
    """Stands in for tensorflow from now on; a TensorFlow that is loaded already is an error."""
    if any(isinstance(f, _Finder) for f in sys.meta_path):
        return
    if "tensorflow" in sys.modules:
        raise ImportError("thalweg.as_tensorflow must be imported before tensorflow")
    thalweg.__version__ = thalweg.VERSION = VERSION
    sys.meta_path.insert(0, _Finder())


def main(argv):
    """Runs a program as python itself would."""
    if len(argv) < 2 or argv[1] in ("-h", "--help") or argv[1] == "-m" and len(argv) < 3:
        sys.stderr.write("usage: python -m thalweg.as_tensorflow [-m MODULE | PROGRAM] [ARGUMENT ...]\n")
        return 2
    import os
    import runpy
    from thalweg import old_python
    old_python.restore()
    install()
    if argv[1] == "-m":
        sys.argv = argv[2:]
        sys.path[0] = os.getcwd()
        runpy.run_module(argv[2], run_name="__main__", alter_sys=True)
    else:
        sys.argv = argv[1:]
        sys.path[0] = os.path.dirname(os.path.abspath(argv[1]))
        runpy.run_path(argv[1], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
install()
