# SPDX-License-Identifier: Apache-2.0
"""Graphs that are imported: into one that has nodes of the same names, and with readers of their tensors that read others."""
import numpy as np
import pytest

import thalweg as tw


@pytest.fixture
def given():
    with tw.Graph().as_default() as graph:
        with tw.name_scope("s"):
            two = tw.constant(2.0, name="two")
            first = tw.no_op(name="first")
        with tw.control_dependencies([first]), tw.colocate_with(two):
            tw.multiply(two, 3.0, name="s/product")
    return graph.as_graph_def()


def test_names_that_the_graph_has_already(given):
    """TensorFlow 1.15 gives new nodes other names where import_graph_def is told no scope."""
    with tw.Graph().as_default() as graph, tw.Session() as session:
        tw.import_graph_def(given, name="")
        (product, two) = tw.import_graph_def(given, name="", return_elements=["s/product:0", "s/two"])
        assert [op.name for op in graph.get_operations()] == [
            name + end for end in ("", "_1") for name in ("s/two", "s/first", "s/product/y", "s/product")]
        assert product.op.inputs[0].op == two and two.name == "s/two_1"
        assert product.op.control_inputs == [graph.get_operation_by_name("s/first_1")] and product.op.colocation_groups() == [b"loc:@s/two_1"]
        assert session.run([product, "s/product:0"]) == [6.0, 6.0]


def test_a_new_name_is_none_of_the_imported(given):
    with tw.Graph().as_default() as graph:
        tw.constant(1.0, name="s/two")
        more = tw.GraphDef.FromString(given.SerializeToString())
        more.node.add(name="s/two_1", op="NoOp")
        tw.import_graph_def(more, name="")
        assert {op.name: op.type for op in graph.get_operations()}["s/two_1"] == "NoOp"
        assert graph.get_tensor_by_name("s/product:0").op.inputs[0].name == "s/two_2:0"


def test_readers_of_a_mapped_tensor(given):
    with tw.Graph().as_default(), tw.Session() as session:
        five = tw.constant(5.0, name="s/two")
        (product,) = tw.import_graph_def(given, {"s/two:0": five}, ["s/product:0"], name="")
        assert session.run(product) == 15.0


def test_a_meta_graph_with_mapped_tensors():
    with tw.Graph().as_default():
        x = tw.placeholder(tw.float32, [2], name="x")
        tw.add_to_collection("results", tw.add(x, 1.0, name="y"))
        written = tw.train.export_meta_graph()
    with tw.Graph().as_default() as graph, tw.Session() as session:
        tw.train.import_meta_graph(written, import_scope="part", input_map={"x:0": tw.constant([1.0, 2.0])})
        np.testing.assert_array_equal(session.run(graph.get_tensor_by_name("part/y:0")), [2.0, 3.0])


def test_annotations_of_operations():
    with tw.Graph().as_default() as graph, tw.Session() as session:
        a, b = tw.constant(1.0, name="a"), tw.constant(2.0, name="b")
        b.op._set_attr("_class", tw.AttrValue(list=tw.AttrValue.ListValue(s=[b"loc:@a"])))
        b.op._set_device("/device:CPU:0")
        assert b.op.colocation_groups() == [b"loc:@a"] and b.op.device == "/device:CPU:0"
        with pytest.raises(ValueError, match="attribute 'dtype' stays as the node was made with it"):
            b.op._set_attr("dtype", tw.AttrValue(type=1))
        assert session.run(a + b) == 3.0 and graph._get_control_flow_context() is None
        seen = []
        tw.cond(a < b, lambda: seen.append(graph._get_control_flow_context()) or tw.constant(1), lambda: tw.constant(2))
        assert session.run(seen[0].AddValue(a)) == 1.0
