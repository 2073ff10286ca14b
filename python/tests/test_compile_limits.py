# SPDX-License-Identifier: Apache-2.0
"""What a step's compilation may take: its time is the step's, and nodes of many edges cost no more than their edges."""
import numpy as np
import pytest

import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as g:
        yield g


def chain(functions, calls):
    """F0 calls F1 `calls` times, one after the other, F1 calls F2 as often, and so on."""
    graph_def = tw.GraphDef()
    for i in range(functions):
        function = graph_def.library.function.add()
        function.signature.name = "F%d" % i
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        value = "x"
        for c in range(calls):
            last = i + 1 == functions
            call = function.node_def.add(name="c%d" % c, op="Neg" if last else "F%d" % (i + 1), input=[value])
            if last:
                call.attr["T"].type = 1
            value = "c%d:y:0" % c
        function.ret["y"] = value
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph_def.node.add(name="y", op="F0", input=["x"])
    tw.import_graph_def(graph_def, name="")


def test_a_long_chain_of_functions_runs():
    chain(500, 1)
    with tw.Session() as session:
        assert session.run("y:0", {"x:0": 2.0}) == -2


def test_what_is_too_deep_or_too_large_is_refused():
    chain(2000, 1)
    with tw.Session() as session, pytest.raises(tw.errors.ResourceExhaustedError, match="more than 512 deep"):
        session.run("y:0", {"x:0": 2.0})
    with tw.Graph().as_default():
        chain(15, 10)
        with tw.Session() as session, pytest.raises(tw.errors.ResourceExhaustedError, match="more than 2097152 nodes"):
            session.run("y:0", {"x:0": 2.0})


def test_the_timeout_of_a_step_counts_its_compilation():
    chain(6, 10)
    with tw.Session() as session:
        with pytest.raises(tw.errors.DeadlineExceededError, match="still being compiled"):
            session.run("y:0", {"x:0": 2.0}, options=tw.RunOptions(timeout_in_ms=1))


def test_nodes_of_many_edges():
    x = tw.placeholder(tw.float32, [50000])
    parts = tw.split(x, 50000)
    with tw.Session() as session:
        values = session.run(parts, {x: np.arange(50000)})
        assert [v.item() for v in values[:3]] == [0, 1, 2] and len(values) == 50000
        one = tw.placeholder(tw.float32, [])
        assert session.run(tw.stack([one] * 50000), {one: 3.0}).sum() == 150000
