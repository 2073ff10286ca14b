# SPDX-License-Identifier: Apache-2.0
"""Derivatives that TensorFlow refuses, and what is made of them here: those of gradients of loops that TensorFlow wrote with
stacks, and those of functions whose depth the data decides."""
import os
import subprocess
import sys

import numpy as np
import pytest
from both import tf

import thalweg as tw

FLOAT, BOOL = 1, 10


def graph_of_a_loop():
    """(bytes, what TensorFlow says of the second derivative): y of x after n iterations and its gradient g."""
    with tf.Graph().as_default() as graph:
        tf.disable_control_flow_v2()
        x, n = tf.placeholder(tf.float64, [], name="x"), tf.placeholder(tf.int32, [], name="n")
        y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * x + tf.sin(v)), (0, tf.ones([], tf.float64)))[1]
        tf.identity(y, name="y")
        g = tf.identity(tf.gradients(y, x)[0], name="g")
        with pytest.raises(TypeError) as refusal:
            tf.gradients(g, x)
        return graph.as_graph_def().SerializeToString(), str(refusal.value)


def test_second_derivatives_of_loops_with_stacks_are_refused_as_there():
    definition, refusal = graph_of_a_loop()
    assert "Second-order gradient for while loops not supported" in refusal
    with tw.Graph().as_default() as graph:
        tw.import_graph_def(tw.GraphDef.FromString(definition), name="")
        x, y, g = (graph.get_tensor_by_name(name + ":0") for name in "xyg")
        with pytest.raises(tw.errors.UnimplementedError, match="Second-order gradient for while loops not supported"):
            tw.gradients(g, x)
        first = tw.gradients(y, x)[0]
        second = tw.gradients(first, x)[0]
        with tw.Session() as session:
            def value(of, at):
                return session.run(of, {x: at, "n:0": 3})
            assert value(first, 1.3) == pytest.approx(value(g, 1.3), rel=1e-12)
            assert value(second, 1.3) == pytest.approx((value(g, 1.3 + 1e-6) - value(g, 1.3 - 1e-6)) / 2e-6, rel=1e-6)


def power(module, partitioned):
    """Power(x, n) = n <= 0 ? 1 : x * Power(x, n - 1) as a GraphDef."""
    made = module.GraphDef()

    def function(name, result):
        one = made.library.function.add()
        one.signature.name = name
        for arg in "xn":
            one.signature.input_arg.add(name=arg, type=FLOAT)
        one.signature.output_arg.add(name="r", type=FLOAT)
        one.ret["r"] = result
        return one.node_def

    def const(nodes, name, value):
        node = nodes.add(name=name, op="Const")
        node.attr["dtype"].type = FLOAT
        node.attr["value"].tensor.CopyFrom(module.make_tensor_proto(np.float32(value)))

    def node(nodes, name, op, *inputs):
        nodes.add(name=name, op=op, input=list(inputs)).attr["T"].type = FLOAT

    def call(nodes, name, *inputs):
        node = nodes.add(name=name, op="PartitionedCall" if partitioned else "Power", input=list(inputs))
        if partitioned:
            node.attr["f"].func.name = "Power"
            node.attr["Tin"].list.type.extend([FLOAT] * 2)
            node.attr["Tout"].list.type.append(FLOAT)

    const(function("One", "one:output:0"), "one", 1)
    more = function("More", "all:z:0")
    const(more, "one", 1)
    node(more, "less", "Sub", "n", "one:output:0")
    call(more, "inner", "x", "less:z:0")
    node(more, "all", "Mul", "x", "inner:output:0" if partitioned else "inner:r:0")
    whole = function("Power", "either:output:0")
    const(whole, "zero", 0)
    node(whole, "done", "LessEqual", "n", "zero:output:0")
    either = whole.add(name="either", op="StatelessIf", input=["done:z:0", "x", "n"])
    either.attr["Tcond"].type = BOOL
    either.attr["Tin"].list.type.extend([FLOAT] * 2)
    either.attr["Tout"].list.type.append(FLOAT)
    either.attr["then_branch"].func.name, either.attr["else_branch"].func.name = "One", "More"
    for arg in "xn":
        made.node.add(name=arg, op="Placeholder").attr["dtype"].type = FLOAT
    call(made.node, "call", "x", "n")
    return made


def theirs(partitioned):
    """In a process of its own, which TensorFlow ends."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(power(tf, partitioned), name="")
        gradient = tf.gradients(graph.get_tensor_by_name("call:0"), graph.get_tensor_by_name("x:0"))
        with tf.Session() as session:
            print(session.run(gradient, {"x:0": 1.5, "n:0": 3.0}))


@pytest.mark.parametrize("partitioned", [False, True])
def test_gradients_of_recursion_are_there_once_and_there_never(partitioned):
    made = subprocess.run([sys.executable, os.path.abspath(__file__), str(int(partitioned))], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300, check=False)
    assert made.returncode != 0, made.stdout
    with tw.Graph().as_default() as graph:
        tw.import_graph_def(power(tw, partitioned), name="")
        x = graph.get_tensor_by_name("x:0")
        first = tw.gradients(graph.get_tensor_by_name("call:0"), x)[0]
        second = tw.gradients(first, x)[0]
        with tw.Session() as session:
            assert session.run(first, {x: 1.5, "n:0": 3.0}) == pytest.approx(3 * 1.5 ** 2)
            with pytest.raises(tw.errors.UnimplementedError, match="recursion"):
                session.run(second, {x: 1.5, "n:0": 3.0})


if __name__ == "__main__":
    theirs(sys.argv[1] == "1")
