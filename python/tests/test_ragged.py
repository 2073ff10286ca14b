# SPDX-License-Identifier: Apache-2.0
"""RaggedTensors: made, fetched and fed, in pieces, in gradients and in datasets. Values beside TensorFlow's are compared in conformance."""
import numpy as np
import pytest
from dataset_elements import elements

import thalweg as tf

Dataset = tf.data.Dataset
RT = tf.RaggedTensor


def run(value):
    with tf.Session() as session:
        return session.run(value)


def test_rows_are_fetched_and_fed():
    rows = RT.from_row_lengths([3, 1, 4, 1, 5], [2, 0, 3])
    value = run(rows)
    assert isinstance(value, tf.ragged.RaggedTensorValue) and value.to_list() == [[3, 1], [], [4, 1, 5]]
    assert rows.shape.as_list() == [3, None] and rows.ragged_rank == 1 and rows.dtype == tf.int32
    fed = tf.ragged.placeholder(tf.int32, 1)
    with tf.Session() as session:
        assert session.run(fed.row_lengths(), {fed: value}).tolist() == [2, 0, 3]
        assert fed.eval({fed: value}, session).to_list() == value.to_list()
        assert session.run({"a": (fed, fed[0])}, {fed: value})["a"][1].tolist() == [3, 1]


def test_what_is_wrong_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Arguments to from_row_splits do not form a valid RaggedTensor"):
        run(RT.from_row_splits([1, 2, 3], [0, 2, 1, 3]))
    with pytest.raises(ValueError, match="row_splits must have dtype int32 or int64"):
        RT.from_row_splits([1, 2], [0.0, 2.0])
    with pytest.raises(ValueError, match="RaggedTensor constructor is private"):
        RT(tf.constant([1]), tf.constant([0, 1]))
    with pytest.raises(ValueError, match="Cannot index into an inner ragged dimension"):
        tf.ragged.constant([[1], [2]])[:, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="SparseTensor is not right-ragged"):
        run(RT.from_sparse(tf.SparseTensor([[0, 1]], [1], [1, 2])))
    with pytest.raises(ValueError, match="all scalar values must have the same nesting depth"):
        tf.ragged.constant([[1], 2])
    with pytest.raises(TypeError, match="values must be a numpy array"):
        tf.ragged.RaggedTensorValue([1], np.array([0, 1]))


def test_a_gradient_comes_back_through_rows():
    flat = tf.constant([1.0, 2.0, 3.0, 4.0])
    rows = RT.from_row_splits(flat, [0, 3, 3, 4])
    dense = rows.to_tensor()
    assert run(tf.gradients(dense * dense, flat)[0]).tolist() == [2, 4, 6, 8]
    doubled = tf.ragged.map_flat_values(tf.multiply, rows, 2.0)
    assert run(tf.gradients(doubled[0], flat)[0]).tolist() == [2, 2, 2, 0]
    turned = tf.gradients(rows[::-1].flat_values * [1.0, 2.0, 3.0, 4.0], flat)[0]  # IndexedSlices, as of tf.gather
    assert run(tf.convert_to_tensor(turned)).tolist() == [2, 3, 4, 1]


def test_shapes_that_are_wanted():
    rows = tf.ragged.constant([[1, 2, 3], [], [4]])
    assert run(rows.to_tensor(shape=[None, 2])).tolist() == [[1, 2], [0, 0], [4, 0]]
    assert run(rows.to_tensor(9, shape=[4, None])).tolist() == [[1, 2, 3], [9, 9, 9], [4, 9, 9], [9, 9, 9]]
    assert rows.to_tensor(shape=[None, 2]).shape.as_list() == [None, 2]


def test_slices_by_tensors():
    rows, n = tf.ragged.constant([[1, 2, 3], [], [4, 5]]), tf.placeholder(tf.int64, [])
    with tf.Session() as session:
        assert session.run(rows[n], {n: 2}).tolist() == [4, 5]
        assert session.run(rows[:, n:], {n: -2}).to_list() == [[2, 3], [], [4, 5]]
        assert session.run(rows[n:], {n: 1}).to_list() == [[], [4, 5]]


def test_datasets_of_rows():
    rows = tf.ragged.constant([[1, 2, 3], [], [4, 5]])
    [whole] = elements(Dataset.from_tensors(rows))
    assert whole.to_list() == [[1, 2, 3], [], [4, 5]]
    assert [x.tolist() for x in elements(Dataset.from_tensor_slices(rows))] == [[1, 2, 3], [], [4, 5]]
    batched = Dataset.from_tensor_slices(rows).shuffle(3, seed=1).batch(2)
    assert isinstance(batched.element_spec, tf.RaggedTensorSpec) and batched.element_spec.shape.as_list() == [None, None]
    assert sorted(row for batch in elements(batched) for row in batch.to_list()) == [[], [1, 2, 3], [4, 5]]
    totals = batched.map(lambda b: tf.segment_sum(b.flat_values, b.value_rowids()))
    assert sum(int(t.sum()) for t in elements(totals)) == 15
    kept = Dataset.from_tensor_slices(rows).batch(2).cache().prefetch(1).repeat(2)
    assert [b.to_list() for b in elements(kept)] == [[[1, 2, 3], []], [[4, 5]]] * 2


@pytest.mark.parametrize("threads", [1, 4])
def test_batches_of_what_has_different_sizes(threads):
    words = Dataset.from_tensor_slices(["a b c", "", "d e"]).map(lambda s: (tf.string_split([s]).values, tf.strings.length(s)))
    given = elements(words.ragged_batch(2), tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=threads)))
    assert [(b.to_list(), n.tolist()) for b, n in given] == [([[b"a", b"b", b"c"], []], [5, 0]), ([[b"d", b"e"]], [3])]
    named = Dataset.range(3).map(lambda n: {"x": tf.range(n), "n": n}).ragged_batch(3)
    [one] = elements(named)
    assert one["x"].to_list() == [[], [0], [0, 1]] and one["n"].tolist() == [0, 1, 2]


def test_a_model_reads_rows():
    table = tf.get_variable("table", [5, 2], initializer=tf.ones_initializer())
    sentences = Dataset.from_tensor_slices(tf.ragged.constant([[0, 1], [2], [3, 4, 1]])).batch(3)
    ids = sentences.make_one_shot_iterator().get_next()
    vectors = tf.ragged.map_flat_values(tf.nn.embedding_lookup, table, ids)
    means = tf.segment_mean(vectors.flat_values, vectors.value_rowids())
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(means))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert np.allclose(session.run(table)[:, 0], [0.5, 0.5 - 1 / 3, 0, 1 - 1 / 3, 1 - 1 / 3])


def test_rows_where_sizes_in_shapes_are_numbers():
    tf.enable_v2_tensorshape()
    try:
        rows = tf.ragged.constant([[1, 2, 3], [], [4, 5]])
        sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 2])
        batch = tf.data.Dataset.from_tensors(rows).make_one_shot_iterator().get_next()
        made = [rows[1:], tf.ragged.stack([rows, rows], axis=1), tf.RaggedTensor.from_sparse(sparse),
                tf.RaggedTensor.from_row_splits([1, 2], tf.placeholder_with_default([0, 2], [None])), batch]
        assert rows.shape.as_list() == [3, None]
        with tf.Session() as session:
            assert [value.to_list() for value in session.run(made)] == [
                [[], [4, 5]], [[[1, 2, 3], [1, 2, 3]], [[], []], [[4, 5], [4, 5]]], [[1, 2], [], [3]], [[1, 2]], [[1, 2, 3], [], [4, 5]]]
    finally:
        tf.disable_v2_tensorshape()
