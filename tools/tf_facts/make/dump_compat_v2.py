"""Dump where tf.compat.v2 of the installed TensorFlow 1.15 differs from its tf.compat.v1.

usage: dump_compat_v2.py OUT.json
`changed`: functions whose arguments differ, with those of v2; `dropped`: names of v1 that v2 has not; the top and one level of
modules, without those that dump_api.py leaves out too.
"""
import json
import os
import sys
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dump_api

SKIP = dump_api.SKIP | {"data", "distribute", "compat", "experimental", "autograph", "lite", "feature_column", "initializers"}


def walk(old, new, path, changed, dropped):
    for name in sorted(n for n in dir(old) if not n.startswith("_")):
        if name in SKIP:
            continue
        if not hasattr(new, name):
            dropped.append(path + name)
            continue
        mine, other = getattr(old, name), getattr(new, name)
        if isinstance(mine, types.ModuleType):
            if not path and isinstance(other, types.ModuleType):
                walk(mine, other, name + ".", changed, dropped)
        elif mine is not other and isinstance(other, types.FunctionType):
            arguments = dump_api.arguments(other)
            if arguments is not None and arguments != dump_api.arguments(mine):
                changed[path + name] = arguments


def main(out):
    changed, dropped = {}, []
    walk(tf.compat.v1, tf.compat.v2, "", changed, dropped)
    with open(out, "w") as f:
        f.write('{"release": "1.15", "changed": {\n')
        f.write(",\n".join("%s: %s" % (json.dumps(k), json.dumps(changed[k])) for k in sorted(changed)))
        f.write('\n}, "dropped": %s}\n' % json.dumps(sorted(dropped)))


if __name__ == "__main__":
    main(*sys.argv[1:])
