"""Writes the arguments of every function of tf.raw_ops: dump_raw_ops.py OUT, run by both releases, the newer one last.

A line is a name and its arguments in order; what a file holds already and this release has not stays."""
import inspect
import os
import sys

import tensorflow as tf


def main(path):
    lines = {}
    if os.path.exists(path):
        with open(path) as file:
            lines = {line.split()[0]: line.strip() for line in file}
    for name in dir(tf.raw_ops):
        function = getattr(tf.raw_ops, name)
        if callable(function) and not name.startswith("_"):
            lines[name] = " ".join([name, *inspect.signature(inspect.unwrap(function)).parameters])
    with open(path, "w") as file:
        file.write("".join(line + "\n" for _, line in sorted(lines.items())))


if __name__ == "__main__":
    main(*sys.argv[1:])
