# SPDX-License-Identifier: Apache-2.0
"""What a graph may say depends on the version of its producer: the shapes known before a run, and the values, of both engines."""
import numpy as np
import pytest
from both import Outcome, differ, tf

import thalweg as tw

FLOAT, INT, BOOL = 1, 3, 10


def placeholder(made, name, kind, shape=None):
    node = made.node.add(name=name, op="Placeholder")
    node.attr["dtype"].type = kind
    if shape is None:
        node.attr["shape"].shape.unknown_rank = True
    else:
        node.attr["shape"].shape.SetInParent()


def const(made, name, value, module):
    node = made.node.add(name=name, op="Const")
    tensor = module.make_tensor_proto(value)
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)


def fed_scalar(made, module):
    placeholder(made, "y", FLOAT, [])
    return {"y:0": np.ones(3, np.float32)}


def scalar(made, module):
    placeholder(made, "y", FLOAT, [])
    return {"y:0": np.float32(3)}


def reduction(op, axes, known):
    def make(made, module):
        value = np.arange(6, dtype=np.float32).reshape(2, 3)
        const(made, "x", value > 2 if op == "All" else value, module)
        feeds = {}
        if known:
            const(made, "axes", np.array(axes, np.int32), module)
        else:
            placeholder(made, "axes", INT)
            feeds["axes:0"] = np.array(axes, np.int32)
        node = made.node.add(name="y", op=op, input=["x", "axes"])
        node.attr["Tidx"].type = INT
        if op != "All":
            node.attr["T"].type = FLOAT
        return feeds
    return make


def scalar_dims(made, module):
    const(made, "dims", np.int32(3), module)
    const(made, "one", np.float32(1), module)
    made.node.add(name="y", op="Fill", input=["dims", "one"]).attr["T"].type = FLOAT
    return {}


def scalars_in_a_row(made, module):
    const(made, "axis", np.int32(0), module)
    const(made, "one", np.float32(1), module)
    node = made.node.add(name="y", op="Concat", input=["axis", "one", "one"])
    node.attr["T"].type, node.attr["N"].i = FLOAT, 2
    return {}


PROGRAMS = {"fed_scalar": fed_scalar, "scalar": scalar, "scalar_dims": scalar_dims, "scalars_in_a_row": scalars_in_a_row,
            **{f"{op}_{'known' if known else 'fed'}_{len(axes)}": reduction(op, axes, known)
               for op in ("Sum", "All") for known in (True, False) for axes in ([[0]], [[0], [1]])}}


def outcome(module, program, producer):
    """(shape known before, outcome)"""
    made = module.GraphDef()
    made.versions.producer = producer
    feeds = PROGRAMS[program](made, module)
    with module.Graph().as_default() as graph:
        try:
            module.import_graph_def(made, name="")
            y = graph.get_tensor_by_name("y:0")
            with module.Session() as session:
                return str(y.shape.dims), Outcome([session.run(y, feeds)])
        except (module.errors.OpError, ValueError) as error:
            return None, Outcome(error=error)


@pytest.mark.parametrize("producer", [1, 7, 8, 20, 21, 22, 23, 24, 27])
@pytest.mark.parametrize("program", PROGRAMS)
def test_producer(program, producer):
    (their_shape, theirs), (our_shape, ours) = outcome(tf, program, producer), outcome(tw, program, producer)
    assert differ(theirs, ours) is None
    assert their_shape == our_shape
