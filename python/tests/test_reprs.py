# SPDX-License-Identifier: Apache-2.0
"""What a shell prints of the things of a graph is what TensorFlow 1.15 prints (recorded with it)."""
import collections

import pytest

import thalweg as tw
from thalweg.graph import device_lib

Pair = collections.namedtuple("Pair", "x y")


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as made:
        yield made


def test_tensors_and_operations():
    x = tw.placeholder(tw.float32, [None, 3], name="x")
    assert (repr(x), str(x)) == ("<tf.Tensor 'x:0' shape=(?, 3) dtype=float32>", 'Tensor("x:0", shape=(?, 3), dtype=float32)')
    assert str(tw.placeholder(tw.int32, name="any")) == 'Tensor("any:0", dtype=int32)'
    assert repr(x.op) == "<tf.Operation 'x' type=Placeholder>"
    assert str(x.op) == str(x.op.node_def) and str(x.op).startswith('name: "x"\nop: "Placeholder"\nattr {\n  key: "dtype"\n')
    assert repr(tw.TensorShape([1, None])) == "TensorShape([Dimension(1), Dimension(None)])" and str(tw.TensorShape(None)) == "<unknown>"


def test_an_operation_of_another_graph_is_shown_whole():
    foreign = tw.no_op("away")
    with pytest.raises(ValueError, match='Operation name: "away"\nop: "NoOp"\n is not an element of this graph.'):
        tw.Graph().as_graph_element(foreign)


def test_variables():
    assert repr(tw.get_variable("v", [2])) == "<tf.Variable 'v:0' shape=(2,) dtype=float32_ref>"
    assert repr(tw.get_variable("r", [2], use_resource=True)) == "<tf.Variable 'r:0' shape=(2,) dtype=float32>"


def test_composites_show_their_parts():
    sparse = tw.SparseTensor([[0, 0]], tw.constant([1.0], name="values"), [2, 2])
    parts = ('indices=Tensor("SparseTensor/indices:0", shape=(1, 2), dtype=int64), values=Tensor("values:0", shape=(1,), dtype=float32), '
             'dense_shape=Tensor("SparseTensor/dense_shape:0", shape=(2,), dtype=int64)')
    assert str(sparse) == f"SparseTensor({parts})"
    assert str(tw.IndexedSlices(sparse.values, sparse.indices, sparse.dense_shape)) == f"IndexedSlices({parts})"
    assert str(tw.IndexedSlices(sparse.values, sparse.indices)).endswith('dtype=float32))')
    assert str(tw.sparse_placeholder(tw.float32, [2, 3], name="k")) == (
        'SparseTensor(indices=Tensor("k/indices:0", shape=(?, 2), dtype=int64), values=Tensor("k/values:0", shape=(?,), dtype=float32), '
        'dense_shape=Tensor("k/shape:0", shape=(2,), dtype=int64))')
    assert str(tw.ragged.constant([[1], [2, 3]])) == (
        'tf.RaggedTensor(values=Tensor("RaggedConstant/values:0", shape=(3,), dtype=int32), '
        'row_splits=Tensor("RaggedConstant/Const:0", shape=(3,), dtype=int64))')
    assert str(tw.ragged.constant([1, 2])) == 'Tensor("RaggedConstant_1/Const:0", shape=(2,), dtype=int32)'
    assert repr(tw.IndexedSlicesSpec([2])) == "IndexedSlicesSpec(TensorShape([Dimension(2)]), tf.float32, tf.int64, None, TensorShape([Dimension(None)]))"


def test_placeholders_of_a_sparse_tensor_without_a_name():
    assert [t.name for t in (lambda s: (s.dense_shape, s.values, s.indices))(tw.sparse_placeholder(tw.int32))] == [
        "Placeholder:0", "Placeholder_1:0", "Placeholder_2:0"]


def test_datasets():
    data = tw.data.Dataset.from_tensor_slices({"a": [1.0], "b": ["x"]})
    assert repr(data) == str(data) == "<DatasetV1Adapter shapes: {a: (), b: ()}, types: {a: tf.float32, b: tf.string}>"
    nested = tw.data.Dataset.zip((data, (data.batch(3),)))
    assert str(nested) == ("<DatasetV1Adapter shapes: ({a: (), b: ()}, ({a: (?,), b: (?,)},)), "
                           "types: ({a: tf.float32, b: tf.string}, ({a: tf.float32, b: tf.string},))>")
    assert str(tw.data.Dataset.from_tensors(Pair(1, 2.0))) == "<DatasetV1Adapter shapes: Pair(x=(), y=()), types: Pair(x=tf.int32, y=tf.float32)>"
    assert str(tw.data.Dataset.from_generator(lambda: iter([1]), tw.int32)) == "<DatasetV1Adapter shapes: <unknown>, types: tf.int32>"


def test_devices():
    with tw.Session() as sess:
        device = sess.list_devices()[0]
    assert repr(device) == f"_DeviceAttributes({device.name}, CPU, {device.memory_limit_bytes}, {device.incarnation})"
    local = device_lib.list_local_devices()[0]
    assert str(local) == (f'name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: {local.memory_limit}\nlocality {{\n}}\n'
                          f"incarnation: {local.incarnation}\n")
