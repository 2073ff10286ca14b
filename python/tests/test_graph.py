# SPDX-License-Identifier: Apache-2.0
"""Graphs: names, scopes, operators, shapes, messages."""
import os
import threading

import numpy as np
import pytest
import thalweg as tw


def test_names_and_scopes():
    assert [tw.constant(1).name, tw.constant(1).name, tw.constant(1, name="c").name] == ["Const:0", "Const_1:0", "c:0"]
    with tw.name_scope("a") as scope:
        assert scope == "a/" and tw.constant(1).name == "a/Const:0"
        with tw.name_scope("b"):
            assert tw.constant(1, name="x").name == "a/b/x:0"
    with tw.name_scope("a"):
        assert tw.constant(1).name == "a_1/Const:0"
    with tw.name_scope("a/"):
        assert tw.constant(1).name == "a/Const_1:0"
    with pytest.raises(ValueError):
        with tw.name_scope("no spaces"):
            pass


def test_elements_by_name(graph):
    c = tw.constant(1, name="c")
    assert graph.get_tensor_by_name("c:0") == c and graph.get_operation_by_name("c") == c.op
    assert hash(graph.get_tensor_by_name("c:0")) == hash(c) and c in {c: 1}
    for name, error in [("d", KeyError), ("d:0", KeyError), ("c:1", KeyError), ("c:x", ValueError)]:
        with pytest.raises(error):
            graph.as_graph_element(name)


def test_operators_agree_with_numpy(run):
    rng = np.random.RandomState(0)
    a, b = rng.uniform(1, 3, [3, 4]).astype(np.float32), rng.uniform(1, 3, [4]).astype(np.float32)
    x, y = tw.constant(a), tw.constant(b)
    cases = [(x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (x // y, a // b), (x % y, a % b), (x ** y, a ** b),
             (2 + x, 2 + a), (2 - x, 2 - a), (2 * x, 2 * a), (2 / x, 2 / a), (-x, -a), (abs(-x), a), (x < y, a < b),
             (x <= y, a <= b), (x > y, a > b), (x >= y, a >= b), ((x > y) & (x < 2.), (a > b) & (a < 2)),
             (~(x > y), ~(a > b)), ((x > y) | (x < 2.), (a > b) | (a < 2)), ((x > y) ^ (x < 2.), (a > b) ^ (a < 2)),
             (a + y, a + b), (x @ tw.transpose(x), a @ a.T)]
    for got, want in zip(run([c[0] for c in cases]), [c[1] for c in cases]):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_division_of_integers(run):
    a, b = tw.constant([7, -7]), tw.constant([2, 2])
    got = run([a / b, a // b, a % b])
    assert got[0].dtype == np.float64
    np.testing.assert_array_equal(got[0], [3.5, -3.5])
    np.testing.assert_array_equal(got[1:], [[3, -4], [1, 1]])


@pytest.mark.parametrize("index", [0, -1, slice(1, 3), (slice(None), 1), (Ellipsis, 2), (slice(None), None, slice(None, None, 2)),
                                   (1, slice(None, None, -1)), (slice(-2, None), slice(0, 2))])
def test_slices_agree_with_numpy(run, index):
    a = np.arange(60.0).reshape(4, 5, 3)
    np.testing.assert_array_equal(run(tw.constant(a)[index]), a[index])


def test_slices_with_tensors(run):
    a, i = np.arange(12.0).reshape(4, 3), tw.placeholder(tw.int32, [])
    x = tw.constant(a)
    got = run([x[i], x[i:, 1], x[:i]], {i: 2})
    for g, want in zip(got, [a[2], a[2:, 1], a[:2]]):
        np.testing.assert_array_equal(g, want)


def test_constants(run):
    cases = [(tw.constant(1), np.int32), (tw.constant(1.0), np.float32), (tw.constant(True), np.bool_),
             (tw.constant(2**40), np.int64), (tw.constant(np.float64(1)), np.float64), (tw.constant(1, tw.int8), np.int8),
             (tw.constant(1 + 2j), np.complex128)]
    for tensor, kind in cases:
        assert run(tensor).dtype == kind
    np.testing.assert_array_equal(run(tw.constant(3, shape=[2, 2])), [[3, 3], [3, 3]])
    np.testing.assert_array_equal(run(tw.constant([1, 2], shape=[3])), [1, 2, 2])
    with pytest.raises(TypeError):
        tw.constant(1.5, tw.int32)
    with pytest.raises(ValueError):
        tw.constant([1, 2, 3], shape=[2])
    with pytest.raises((TypeError, ValueError)):
        tw.constant([[1], [1, 2]])
    with pytest.raises((TypeError, ValueError)):
        tw.constant("a", tw.float32)


def test_types_that_clash_are_a_type_error():
    a, b = tw.constant(1), tw.constant(1.0)
    with pytest.raises(TypeError, match="'y' of 'Add' Op has type float32 that does not match type int32"):
        tw.add(a, b)
    with pytest.raises(TypeError):
        a + 1.5


def test_shapes_that_clash_are_a_value_error():
    with pytest.raises(ValueError, match="MatMul"):
        tw.matmul(tw.ones([2, 3]), tw.ones([4, 5]))
    with pytest.raises(ValueError):
        tw.placeholder(tw.float32, [2]) + tw.placeholder(tw.float32, [3])


def test_shapes(graph):
    x = tw.placeholder(tw.float32, [None, 3])
    assert x.shape.as_list() == [None, 3] and x.get_shape()[1].value == 3 and x.shape.ndims == 2 and str(x.shape) == "(?, 3)"
    assert tw.placeholder(tw.float32).shape.ndims is None and not tw.placeholder(tw.float32).shape
    x.set_shape([7, None])
    assert x.shape.as_list() == [7, 3] and graph.get_tensor_by_name(x.name).shape.as_list() == [7, 3]
    with pytest.raises(ValueError):
        x.set_shape([8, 3])
    assert tw.TensorShape([1, None]).is_compatible_with([None, 5]) and not tw.TensorShape([1]).is_compatible_with([2])
    assert tw.TensorShape([1, 2]) == [1, 2] and tw.TensorShape([1]).concatenate([None]).as_list() == [1, None]
    assert tw.Dimension(3) + 4 == tw.Dimension(7) and (tw.Dimension(None) == 3) is None


def test_dtypes():
    assert tw.float32.as_numpy_dtype is np.float32 and tw.as_dtype(np.int64) is tw.int64 and tw.as_dtype("half") is tw.float16
    assert tw.float32 == np.float32 and tw.float32 != tw.int32 and tw.int32.max == 2**31 - 1 and tw.float32.is_floating
    assert tw.float32._as_ref.base_dtype is tw.float32 and tw.as_dtype(1) is tw.float32 and tw.string.size == 8
    assert repr(tw.float32) == "tf.float32" and str(tw.float32) == "<dtype: 'float32'>"
    with pytest.raises(TypeError):
        tw.as_dtype("floatt")


def test_a_tensor_is_no_truth_value_and_no_sequence():
    x = tw.constant([1, 2])
    for misuse in (lambda: bool(x), lambda: list(x), lambda: len(x), lambda: x["a"]):
        with pytest.raises(TypeError):
            misuse()


def test_control_dependencies(graph, run):
    v = tw.Variable(0)
    with tw.control_dependencies([v.assign(5)]):
        read = v.read_value()
        with tw.control_dependencies(None):
            free = tw.constant(1)
    assert run(read) == 5 and free.op.control_inputs == [] and len(read.op.control_inputs) == 1
    gate = tw.group(read, v.initializer)
    assert gate.type == "NoOp" and len(gate.control_inputs) == 2


def test_devices():
    with tw.device("/job:ps/task:3"):
        with tw.device("/cpu:1"):
            assert tw.constant(1).op.device == "/job:ps/task:3/device:CPU:1"
        with tw.device(None):
            assert tw.constant(1).op.device == ""
        with tw.device(lambda op: "/device:CPU:7" if op.type == "Const" else None):
            assert tw.constant(1).op.device == "/job:ps/task:3/device:CPU:7" and tw.no_op().device == "/job:ps/task:3"
    with pytest.raises(ValueError):
        with tw.device("/nonsense:1"):
            pass


def test_colocation():
    a = tw.constant(1, name="a")
    with tw.colocate_with(a):
        assert tw.constant(2).op.colocation_groups() == [b"loc:@a"]


def test_collections(graph):
    tw.add_to_collection("k", 1)
    tw.get_collection_ref("k").append(2)
    assert tw.get_collection("k") == [1, 2] and tw.get_collection("none") == []
    v = tw.Variable(1, name="scope/v")
    assert tw.global_variables("scope") == [v] and tw.global_variables("other") == [] and tw.trainable_variables() == [v]


def test_a_finalized_graph_cannot_grow(graph):
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tw.constant(1)


def test_sites_are_the_users_lines():
    a = tw.constant(1)
    b = tw.layers.dense(tw.ones([1, 2]), 3)
    for op in (a.op, b.op, tw.trainable_variables()[0].op):
        assert op.site.startswith(os.path.abspath(__file__)) and "test_sites_are_the_users_lines" in op.site


def test_attributes():
    x = tw.nn.max_pool(tw.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    op = x.op
    assert op.get_attr("ksize") == [1, 2, 2, 1] and op.get_attr("padding") == b"VALID" and op.get_attr("T") is tw.float32
    p = tw.placeholder(tw.float32, [None, 2])
    assert [d.size for d in p.op.get_attr("shape").dim] == [-1, 2]
    with pytest.raises(ValueError):
        op.get_attr("nothing")
    assert tw.constant([1, 2]).op.get_attr("value").int_val or tw.constant([1, 2]).op.get_attr("value").tensor_content


def test_graph_def_there_and_back(graph, run):
    x = tw.placeholder(tw.float32, [2], name="x")
    y = tw.add(x, tw.constant([1.0, 2.0], name="c"), name="y")
    message = graph.as_graph_def()
    assert [(n.name, n.op) for n in message.node] == [("x", "Placeholder"), ("c", "Const"), ("y", "Add")]
    assert list(message.node[2].input) == ["x", "c"]
    copy = tw.GraphDef()
    copy.ParseFromString(message.SerializeToString())
    assert copy == message
    with tw.Graph().as_default():
        z, op = tw.import_graph_def(copy, return_elements=["y:0", "y"])
        assert z.name == "import/y:0" and op == z.op
        np.testing.assert_array_equal(run(z, {"import/x:0": [1, 1]}), [2, 3])
        tw.import_graph_def(copy, name="")
        feed = tw.constant([10.0, 10.0])
        [mapped] = tw.import_graph_def(copy, input_map={"x:0": feed}, return_elements=["y:0"], name="m")
        np.testing.assert_array_equal(run(mapped), [11, 12])
    assert run(y, {x: [0, 0]}).tolist() == [1, 2]


def test_bad_graph_defs_are_refused():
    for data in (b"\xff\xff\xff", b"not a graph"):
        with pytest.raises((ValueError, tw.errors.OpError)):
            tw.import_graph_def(data)
    bad = tw.GraphDef()
    bad.node.add(name="a", op="NoSuchOperation")
    with pytest.raises((ValueError, tw.errors.OpError), match="NoSuchOperation"):
        tw.import_graph_def(bad)


def test_unknown_operations_and_attributes():
    with pytest.raises(AttributeError):
        _ = tw.raw_ops.NoSuchOperation
    with pytest.raises(TypeError):
        tw.raw_ops.Neg(tw.constant(1.0), no_such=1)
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        _ = tw.frobnicate


def test_graphs_of_threads_are_apart():
    seen = []

    def go():
        with tw.Graph().as_default() as g:
            tw.constant(1)
            seen.append((g._num_nodes(), tw.get_default_graph() is g))
    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    assert seen == [(1, True)] and tw.get_default_graph()._num_nodes() == 0


def test_raw_operations_have_signatures_and_help(run):
    import inspect
    assert str(inspect.signature(tw.raw_ops.MatMul)).startswith(
        "(a: 'TensorLike', b: 'TensorLike', transpose_a: 'bool' = False, transpose_b: 'bool' = False")
    assert "transpose_a : optional, False unless given" in tw.raw_ops.MatMul.__doc__ and "MatMul" in dir(tw.raw_ops)
    assert run(tw.raw_ops.Add(x=1.0, y=2.0)) == 3.0
    both = run(tw.raw_ops.Unpack(value=[1, 2], num=2))
    assert both == [1, 2]
    found = tw.raw_ops.Switch(data=tw.constant(1), pred=tw.constant(True))
    assert found._fields == ("output_false", "output_true")


def test_a_replaced_input_closes_no_cycle():
    graph = tw.Graph()
    with graph.as_default():
        a = tw.constant([1.0, 2.0], name="a")
        b = tw.negative(a, name="b")
        c = tw.square(b, name="c")
        graph._set_input(c.op, 0, tw.identity(tw.exp(b), name="later"))
        with pytest.raises(ValueError, match="would close a cycle: Neg 'b' -> Exp 'Exp' -> .* -> Square 'c' -> Neg 'b'"):
            graph._set_input(b.op, 0, c)
        with tw.Session() as session:
            np.testing.assert_allclose(session.run(c), np.exp([-1.0, -2.0]) ** 2, rtol=1e-6)
            slope = session.run(tw.gradients(c, a)[0])
        np.testing.assert_allclose(slope, -2 * np.exp([-1.0, -2.0]) ** 2, rtol=1e-6)
