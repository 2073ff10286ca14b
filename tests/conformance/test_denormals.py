# SPDX-License-Identifier: Apache-2.0
"""Denormal numbers in element-wise operations, beside TensorFlow 2.21: whether they are numbers there, or zeros with their signs.

Where the release itself has one answer for the numbers that fill its vectors and another for those left over, there is no rule to follow.
"""
import numpy as np
import pytest
from both import PLAIN, tf

import thalweg as tw

BITS = {"float32": np.uint32, "float64": np.uint64}
TINY = {"float32": [1e-40, -1e-40, 1.4e-45, -1.4e-45, 1.17e-38, -1.17e-38], "float64": [1e-310, -1e-310, 5e-324, -5e-324, 2.2e-308, -2.2e-308]}
UNARY = ("Abs", "Asinh", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "Rint", "Selu", "Sigmoid", "Sinh", "Softplus", "Softsign", "Square",
         "Tan", "Tanh")
POWERS = (0.5, 1.0, 2.0, -1.0, 3.0, 1e-20, 0.0)


def results(definition, feeds):
    """Theirs and ours, as bits."""
    made = []
    for module, config in ((tf, {"config": PLAIN}), (tw, {})):
        graph_def = module.GraphDef()
        graph_def.ParseFromString(definition)
        with module.Graph().as_default():
            module.import_graph_def(graph_def, name="")
            with module.Session(**config) as session:
                y = session.run("y:0", feeds)
        made.append(y.view(BITS[y.dtype.name]))
    return made


def graph_of(op, kind, *inputs):
    with tf.Graph().as_default() as graph:
        for name in inputs:
            tf.placeholder(kind, [None], name=name)
        definition = graph.as_graph_def()
    node = definition.node.add(name="y", op=op, input=inputs)
    node.attr["T"].type = tf.as_dtype(kind).as_datatype_enum
    return definition.SerializeToString()


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("op", UNARY)
def test_unary(op, kind):
    x = np.array(TINY[kind] * 8, kind)
    for values in (x, x[:1], x[1:2]):
        theirs, ours = results(graph_of(op, kind, "x"), {"x:0": values})
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", BITS)
def test_powers(kind):
    # So many that none is left over from the release's vectors: for those it asks the C library.
    x = np.tile(np.repeat(np.array(TINY[kind], kind), len(POWERS)), 8)
    y = np.tile(np.array(POWERS, kind), len(TINY[kind]) * 8)
    for base, power in ((x, y), (np.abs(y), x), (x, np.roll(x, 1))):
        theirs, ours = results(graph_of("Pow", kind, "x", "p"), {"x:0": base, "p:0": power})
        np.testing.assert_array_equal(ours, theirs)
