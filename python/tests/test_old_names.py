# SPDX-License-Identifier: Apache-2.0
"""Names that Python and numpy of TensorFlow 1's time had: each is there under the launcher, and does what it did."""
import importlib.util
import os
import subprocess
import sys

import pytest

from thalweg.compatibility import old_modules

ROOT = os.path.dirname(os.path.dirname(importlib.util.find_spec("thalweg").origin))

# (program, what it prints)
PYTHON = [
    ("from collections import Mapping, MutableMapping, Iterable, Callable; print(isinstance({}, Mapping), isinstance(1, Iterable))", "True False"),
    ("import inspect; print(inspect.getargspec(lambda a, b=2, *c, **d: a))", "ArgSpec(args=['a', 'b'], varargs='c', keywords='d', defaults=(2,))"),
    ("import time; print(time.clock() > 0)", "True"),
    ("import fractions; print(fractions.gcd(12, 18))", "6"),
    ("import threading; print(threading.Thread().isAlive())", "False"),
    ("import base64; print(base64.decodestring(base64.encodestring(b'ab')))", "b'ab'"),
    ("import random; print(sorted(random.sample({3, 4}, 2)), len(random.Random(1).sample(frozenset('abc'), 2)))", "[3, 4] 2"),
    ("import imp; print(imp.load_source('mine', 'mine.txt').x, imp.find_module('mine_too', ['.'])[1], imp.new_module('n').__name__)",
     "1 ./mine_too.py n"),
    ("from distutils.version import LooseVersion as V; print(V('1.10.0') > V('1.9'), V('1.15.0') >= '1.15', V('2.0b1') < '2.0c')", "True True True"),
    ("from distutils.util import strtobool; print(strtobool('Yes'), strtobool('off'))", "1 0"),
]
NUMPY = [
    ("np.bool in (bool, np.bool_), np.int, np.float, np.object, np.str", f"(True, {int}, {float}, {object}, {str})"),
    ("np.bool8 is np.bool_, np.float_ is np.float64, np.Inf, np.int0 is np.intp", "(True, True, inf, True)"),
    ("np.array([[1], [1, 2]]).dtype, np.asarray([[1], [1, 2]]).shape", "(dtype('O'), (2,))"),
    ("np.array([1.5, 2], copy=False).tolist()", "[1.5, 2.0]"),
    ("np.reshape(np.arange(4), newshape=(2, 2)).tolist(), np.reshape(np.arange(4), (4, 1), order='F').shape", "([[0, 1], [2, 3]], (4, 1))"),
    ("np.product([2, 3]), np.sometrue([0, 1]), np.in1d([1, 2], [2]).tolist(), np.asscalar(np.ones(1)), np.alen([1, 2])", "(6, True, [False, True], 1.0, 2)"),
    ("np.fromstring(b'ab', dtype=np.uint8).tolist(), np.fromstring('1 2', sep=' ').tolist()", "([97, 98], [1.0, 2.0])"),
    ("np.cast['float32'](1).dtype, np.cast[np.int32](1.5), np.sctypes['float'][0], np.obj2sctype('f4')",
     "(dtype('float32'), array(1, dtype=int32), <class 'numpy.float16'>, <class 'numpy.float32'>)"),
    ("np.VisibleDeprecationWarning.__name__, np.AxisError.__name__, np.math.pi, np.mat('1 2').shape", "('VisibleDeprecationWarning', 'AxisError', 3.141592653589793, (1, 2))"),
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each prints, or its error, of one launch."""
    folder = tmp_path_factory.mktemp("old")
    (folder / "mine.txt").write_text("x = 1\n")
    (folder / "mine_too.py").write_text("y = 2\n")
    (folder / "programs.py").write_text(f"""
import warnings, numpy as np, tensorflow as tf
warnings.simplefilter("ignore")
for code in {[code for code, _ in PYTHON] + ['print((' + code + '))' for code, _ in NUMPY]!r}:
    try:
        exec(code, {{"np": np}})
    except Exception as error:
        print(type(error).__name__, error)
""")
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", "programs.py"], capture_output=True, text=True, check=False, cwd=folder,
                          env={**os.environ, "PYTHONPATH": ROOT})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("number", range(len(PYTHON) + len(NUMPY)))
def test_is_there_again(said, number):
    code, printed = (PYTHON + NUMPY)[number]
    found = said[number].replace("np.int64(6)", "6").replace("np.True_", "True")
    assert found == printed, code


def imported(monkeypatch, name):
    """The module of old_modules, also where Python has its own."""
    finder = next((f for f in sys.meta_path if isinstance(f, old_modules._Finder)), None) or old_modules._Finder()
    spec = finder.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_imp_where_python_has_none(monkeypatch, tmp_path):
    imp = imported(monkeypatch, "imp")
    (tmp_path / "source").write_text("x = 1\n")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("y = 2\n")
    assert imp.load_source("of_source", str(tmp_path / "source")).x == 1 and sys.modules.pop("of_source").__name__ == "of_source"
    assert imp.load_module("of_pack", *imp.find_module("pack", [str(tmp_path)])).y == 2 and sys.modules.pop("of_pack").__path__
    assert imp.find_module("sys")[2][2] == imp.C_BUILTIN and imp.load_module("sys", *imp.find_module("sys")) is sys
    with pytest.raises(ImportError, match="No module named 'no_such'"):
        imp.find_module("no_such", [str(tmp_path)])
    (tmp_path / "fails").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        imp.load_source("of_fails", str(tmp_path / "fails"))
    assert "of_fails" not in sys.modules


def test_distutils_where_python_has_none(monkeypatch):
    assert old_modules._Finder().find_spec("distutils.version") is None  # Python's, or that of setuptools, is whole
    assert old_modules._Finder().find_spec("distutils.core") is None
    imported(monkeypatch, "distutils")
    version = imported(monkeypatch, "distutils.version")
    ordered = ["0.12", "1.2", "1.10", "1.15.0", "2.0.0"]
    for kind in (version.LooseVersion, version.StrictVersion):
        assert sorted(reversed(ordered), key=kind) == ordered
        assert kind("1.10") > "1.9" and kind("1.4") == kind("1.4") and str(kind("1.4")) == "1.4"
    assert version.LooseVersion("1.13.0-rc1").version == [1, 13, 0, "rc", 1]
    assert version.StrictVersion("1.0a1") < "1.0b2" and version.StrictVersion("1.0b2") < "1.0"
    with pytest.raises(ValueError, match="invalid version number '1.x'"):
        version.StrictVersion("1.x")
    with pytest.raises(ValueError, match="invalid truth value 'maybe'"):
        imported(monkeypatch, "distutils.util").strtobool("maybe")


def test_what_thalweg_itself_refuses_stays_refused():
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", "-c", "import tensorflow as tf; tf.constant([[1], [1, 2]])"],
                          capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ROOT})
    assert done.returncode == 1 and "ValueError" in done.stderr, done.stderr
