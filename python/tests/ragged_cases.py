# SPDX-License-Identifier: Apache-2.0
"""What functions of tensors make of RaggedTensors: expressions, and what both releases gave for them (ragged_recorded.json).

The expressions stand in files named for what they hold. A line there is one of them, or several: "exp log: real; real, 2" says what each
of these functions of `t` is called with, and "rows + ?: more; 1" what stands in the place of the question mark.

A release prints what it gives: python ragged_cases.py > 2.21.json. Of both: python ragged_cases.py 1.15.json 2.21.json
"""
import json
import os
import sys

import numpy as np
import ragged_broadcasts
import ragged_choices
import ragged_derivatives
import ragged_elementwise
import ragged_operands
import ragged_reductions
import ragged_shapes
import ragged_text

FILES = (ragged_elementwise, ragged_broadcasts, ragged_reductions, ragged_shapes, ragged_choices, ragged_text, ragged_derivatives)


def plain(value):
    """A fetched value as JSON holds it, with the type of its row splits; numbers to six places."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "nested_row_splits"):
        return [plain(v) for v in value]
    if hasattr(value, "nested_row_splits"):
        return {"ragged": _printed(value.to_list()), "splits": str(value.row_splits.dtype), "dtype": _kind(value.flat_values.dtype)}
    value = np.asarray(value)
    return {"value": _printed(value.tolist()), "dtype": _kind(value.dtype)}


def _kind(dtype):
    return "text" if dtype.kind in "OSU" else str(dtype)


def _printed(value):
    if isinstance(value, list):
        return [_printed(v) for v in value]
    if isinstance(value, (float, complex)):
        return f"{value:.6g}"
    return value.decode("latin1") if isinstance(value, bytes) else value


def outcome(t, expression):
    """What an expression gives, or which error it is."""
    with t.Graph().as_default(), t.Session() as session:
        scope = {"t": t}
        try:
            for line in ragged_operands.OPERANDS.strip().splitlines():
                name, text = line.split(None, 1)
                if name in expression:
                    scope[name] = eval(text, scope)
            return plain(session.run(eval(expression, scope)))
        except (ValueError, TypeError, AttributeError, NotImplementedError, IndexError, t.errors.OpError) as error:
            return {"error": type(error).__name__}


def _of_line(line):
    heads, several, parts = line.partition(": ")
    if not several:
        return [line]
    heads = [heads] if "?" in heads else [f"t.{function}(?)" for function in heads.split()]
    return [head.replace("?", part) for head in heads for part in parts.split("; ")]


def expressions():
    return [e for file in FILES for line in file.EXPRESSIONS.splitlines() if line for e in _of_line(line)]


def alike(a, b):
    """Whether two outcomes are the same; numbers with a fraction may differ in the last of their places."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    try:
        return a == b or isinstance(a, str) and isinstance(b, str) and bool(np.isclose(complex(a), complex(b), rtol=2e-5, atol=1e-7))
    except ValueError:
        return False


def recorded():
    """expression -> release -> outcome."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ragged_recorded.json")) as file:
        return json.load(file)


def outcomes_of_release():
    """Those of the TensorFlow of this interpreter."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow
    tf = tensorflow.compat.v1 if hasattr(tensorflow.compat, "v1") else tensorflow
    tf.disable_v2_behavior()
    return {expression: outcome(tf, expression) for expression in expressions()}


def main():
    """Prints the outcomes of this release; with two such files, writes ragged_recorded.json of them: 1.15's, then 2.21's."""
    if len(sys.argv) == 1:
        json.dump(outcomes_of_release(), sys.stdout)
        return
    columns = {}
    for release, path in zip(("1.15", "2.21"), sys.argv[1:]):
        with open(path) as file:
            columns[release] = json.load(file)
    rows = [f"{json.dumps(e)}: {json.dumps({release: column[e] for release, column in columns.items()})}" for e in expressions()]
    with open("ragged_recorded.json", "w") as file:
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
