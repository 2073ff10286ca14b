# SPDX-License-Identifier: Apache-2.0
"""Functions of tensors take RaggedTensors: what TensorFlow 1.15 and 2.21 gave for the expressions of ragged_cases.py is recorded."""
import json
import subprocess
import sys

import numpy as np
import pytest
import ragged_cases

import thalweg as tf

RECORDED = ragged_cases.recorded()
# Where ours is neither release's, and why.
OURS = {
    "t.nn.sigmoid_cross_entropy_with_logits(labels=real, logits=real)": "the names of TensorFlow 2 take them there",
    "t.nn.softmax(real)": "the names of TensorFlow 2 take them there",
    "t.nn.softmax(t.ragged.constant([[[1.0, 2.0], [3.0, 5.0]], []], ragged_rank=1))": "the names of TensorFlow 2 take them there",
    "t.strings.to_number(t.ragged.constant([[\"1\", \"2.5\"], []]))": "the names of TensorFlow 2 take them there",
    "t.boolean_mask(rows, [True, False, True, False])": "tf.ragged.boolean_mask gives the same",
    "t.ragged.constant([[1, 2], [3, 4]]) + [10, 20]": "rows as long as a vector are added to it, as to a matrix of as many rows",
    "t.tile(rows, [2])": "ValueError says which size is wanted",
}


def run(value):
    with tf.Session() as session:
        return session.run(value)


def test_each_expression_is_there_once_and_recorded():
    assert sorted(ragged_cases.expressions()) == sorted(RECORDED) and OURS.keys() <= RECORDED.keys()


@pytest.mark.parametrize("expression", ragged_cases.expressions())
def test_as_recorded(expression):
    found = json.loads(json.dumps(ragged_cases.outcome(tf, expression)))
    theirs = RECORDED[expression]
    agrees = any(ragged_cases.alike(found, outcome) for outcome in theirs.values())
    assert agrees != (expression in OURS), f"theirs {theirs}\nours {found}"


def test_what_is_not_taken_says_so():
    rows = tf.ragged.constant([[1.0], []])
    with pytest.raises(TypeError, match="'MatMul' Op takes no RaggedTensor"):
        tf.matmul(rows, rows)
    with pytest.raises(TypeError, match="Failed to convert object of type"):
        tf.convert_to_tensor(rows)
    with pytest.raises(ValueError, match="mismatched row_splits dtypes"):
        rows + rows.with_row_splits_dtype(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dimension size mismatch"):
        run(rows + tf.placeholder_with_default([[1.0], [2.0], [3.0]], [None, None]))


def test_nodes_are_those_of_the_values_alone():
    rows, graph = tf.ragged.constant([[1, 2], [3]]), tf.get_default_graph()
    before = len(graph.get_operations())
    total = tf.add(rows, 1, name="total")
    assert [op.type for op in graph.get_operations()[before:]] == ["Const", "Add"]
    assert total.flat_values.name.startswith("total/") and total.row_splits is rows.row_splits


def test_plain_tensors_load_nothing_of_it():
    program = ("import sys, thalweg as tf; tf.add(tf.constant(1), 2); rows = tf.ragged.constant([[1]]); tf.add(rows.flat_values, 1);"
               "print('thalweg.ragged.dispatch' in sys.modules); tf.add(rows, 1); print('thalweg.ragged.dispatch' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout.split() == ["False", "True"]


def test_a_variable_learns_through_rows():
    table = tf.get_variable("table", [4, 2], initializer=tf.ones_initializer())
    bias = tf.get_variable("bias", [2], initializer=tf.zeros_initializer())
    ids = tf.ragged.constant([[0, 1], [], [3]])
    means = tf.reduce_sum(tf.nn.embedding_lookup(table, ids) + bias, axis=1)
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(means))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(means).tolist() == [[2, 2], [0, 0], [1, 1]]
        session.run(step)
        assert session.run(table).tolist() == [[0, 0], [0, 0], [1, 1], [0, 0]] and session.run(bias).tolist() == [-3, -3]


def test_shapes_of_sizes_that_are_not_known():
    rows, matrix = tf.ragged.placeholder(tf.int32, 1, []), tf.placeholder(tf.int32, [None, None])
    total = rows + matrix
    assert total.shape.as_list() == [None, None]
    with tf.Session() as session:
        def given(lists, array):
            value = tf.ragged.constant_value(lists, "int32")
            return session.run(total, {rows: value, matrix: np.array(array, np.int32)}).to_list()
        assert given([[1, 2], []], [[10], [20]]) == [[11, 12], []]
        assert given([[1, 2], [3, 4]], [[10, 20], [30, 40]]) == [[11, 22], [33, 44]]
        assert given([[1, 2], [3]], [[10]]) == [[11, 12], [13]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="dimension size mismatch"):
            given([[1, 2], [3]], [[10, 20], [30, 40]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="dimension size mismatch"):
            given([[1, 2], [3]], [[10], [20], [30]])


def _random_operand(rng, sizes, ragged_rank, known):
    """An array and the same as a tensor. What is not ragged is of size 1 now and then, or of a size that is known in the step only."""
    shape = [1 if (axis == 0 or axis > ragged_rank) and rng.random() < 0.35 else size for axis, size in enumerate(sizes)]
    array = rng.integers(0, 100, shape)
    if ragged_rank:
        return array, tf.RaggedTensor.from_tensor(array, ragged_rank=ragged_rank)
    return array, tf.constant(array) if known else tf.placeholder_with_default(array, [None] * array.ndim)


def test_rows_of_one_length_are_broadcast_as_arrays():
    rng = np.random.default_rng(5)
    made, wanted = [], []
    for _ in range(100):
        sizes = rng.integers(2, 4, rng.integers(2, 5)).tolist()
        rank = int(rng.integers(1, len(sizes) + 1))
        a, rows = _random_operand(rng, sizes, int(rng.integers(1, len(sizes))), True)
        b, other = _random_operand(rng, sizes[len(sizes) - rank:], int(rng.integers(0, rank)), rng.random() < 0.5)
        made += [rows - other, other - rows]
        wanted += [a - b, b - a]
    found = run(made)
    assert [value.to_list() for value in found] == [array.tolist() for array in wanted]


def test_rows_of_a_rank_that_is_not_known():
    rows, others = tf.ragged.placeholder(tf.int32, 1), tf.ragged.placeholder(tf.int32, 1)
    made = [rows + 1, rows * others, tf.reduce_sum(rows), tf.reduce_max(rows, axis=1), tf.abs(-rows)]
    value = tf.ragged.constant_value([[1, 2], [3]], "int32")
    with tf.Session() as session:
        added, product, total, largest, same = session.run(made, {rows: value, others: value})
        assert (added.to_list(), product.to_list(), total, largest.tolist(), same.to_list()) == (
            [[2, 3], [4]], [[1, 4], [9]], 6, [2, 3], [[1, 2], [3]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Inputs must have identical ragged splits"):
            session.run(made[1], {rows: value, others: tf.ragged.constant_value([[1], [2, 3]], "int32")})
    with pytest.raises(ValueError, match="unknown rank"):
        rows + [1, 2]


def test_dropout_keeps_rows():
    rows = tf.ragged.constant([[1.0] * 50, [], [1.0] * 50])
    dropped = run(tf.nn.dropout(rows, rate=0.5, seed=3))
    assert dropped.row_splits.tolist() == [0, 50, 50, 100] and set(dropped.flat_values.tolist()) == {0.0, 2.0}
