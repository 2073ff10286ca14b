"""Dump what tf.contrib, tf.keras and tf.estimator of the installed TensorFlow 1.15 offer at their first level, and the modules below
contrib that programs take names of: names, kinds, argument names, defaults; and the names of all modules of the package.

usage: dump_contrib.py OUT.json OUT_MODULES.txt
"""
import importlib
import inspect
import json
import os
import sys
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
import tensorflow_core
from tensorflow.python.framework import dtypes
from tensorflow.python.util import deprecation

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dump_api


BELOW = "compiler.jit distributions.bijectors learn.datasets learn.learn_runner learn.monitors losses.metric_learning".split()


def rows(module, path):
    found = {}
    for name in sorted(n for n in dir(module) if not n.startswith("_")):
        try:
            value = getattr(module, name)
        except Exception:
            continue
        if isinstance(value, types.ModuleType) or isinstance(value, dtypes.DType) or value is deprecation.deprecated:
            continue
        row = None
        if inspect.isclass(value):
            row = {"kind": "exception" if issubclass(value, Exception) else "class"}
            arguments = dump_api.arguments(value.__init__)
        elif callable(value):
            row = {"kind": "function"}
            arguments = dump_api.arguments(value)
        if row is not None:
            if arguments is not None:
                row["args"] = [a for a in arguments if a != "self"]
            found[path + "." + name] = row
    return found


def contrib_modules():
    for name in sorted(dir(tf.contrib)):
        if not name.startswith("_") and name != "quantization":  # which has the names of all operations
            try:
                module = importlib.import_module("tensorflow.contrib." + name)
            except Exception:
                continue
            yield module, "tf.contrib." + name
    for path in BELOW:
        folder, name = path.split(".")
        yield getattr(getattr(tf.contrib, folder), name), "tf.contrib." + path


def main(out, modules_out):
    symbols = {}
    for module, path in contrib_modules():
        symbols.update(rows(module, path))
    for path in ("keras", "estimator"):
        module = getattr(tf, path)
        symbols.update(rows(module, "tf." + path))
        for name in sorted(dir(module)):
            part = getattr(module, name, None)
            if isinstance(part, types.ModuleType) and not name.startswith("_"):
                symbols.update(rows(part, "tf.%s.%s" % (path, name)))
    with open(out, "w") as f:
        f.write('{"release": "1.15", "symbols": {\n')
        f.write(",\n".join("%s: %s" % (json.dumps(k), json.dumps(symbols[k], separators=(",", ":"))) for k in sorted(symbols)))
        f.write("\n}}\n")
    root = os.path.dirname(tensorflow_core.__file__)
    with open(modules_out, "w") as f:
        for where, folders, files in os.walk(root):
            folders[:] = sorted(n for n in folders if n != "__pycache__")
            path = os.path.relpath(where, root).replace(os.sep, "/")
            if path.split("/")[0] not in ("python", "contrib", "core", "tools", "examples"):
                continue
            names = sorted(n[:-3] for n in files if n.endswith(".py") and n != "__init__.py" and not n.endswith("_test.py"))
            f.write(" ".join([path + ":"] + names) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
