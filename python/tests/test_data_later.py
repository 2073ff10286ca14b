# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow 2 added to datasets: methods, names of arguments; and iterators that begin by themselves."""
import threading

import numpy as np
import pytest
from dataset_elements import elements

import thalweg as tf

Dataset = tf.data.Dataset


def test_methods_of_later_releases():
    assert elements(Dataset.range(9).take_while(lambda x: x < 3)) == [0, 1, 2]
    assert elements(Dataset.from_tensor_slices([1, 2, 1]).unique()) == [1, 2]
    assert elements(Dataset.range(4).scan(np.int64(0), lambda s, x: (s + x, s + x))) == [0, 1, 3, 6]
    assert elements(Dataset.zip(Dataset.range(2), Dataset.range(5, 9))) == [(0, 5), (1, 6)]
    assert elements(Dataset.counter(3, 2).take(2)) == [3, 5]
    assert elements(Dataset.choose_from_datasets([Dataset.range(2), Dataset.range(5, 7)], Dataset.range(2))) == [0, 5]
    grouped = Dataset.range(4).group_by_window(lambda x: x % 2, lambda key, group: group.batch(2), 2)
    assert [g.tolist() for g in elements(grouped)] == [[0, 2], [1, 3]]
    with tf.Session() as session:
        assert session.run(Dataset.range(3, 4).get_single_element()) == 3
        assert session.run(Dataset.range(10).batch(4).cardinality()) == 3


def test_a_list():
    from_list = tf.data.experimental.from_list
    assert [(int(n), s) for n, s in elements(from_list([(1, "a"), (2, "b")]))] == [(1, b"a"), (2, b"b")]
    lists = from_list([[1], [2, 3]])
    assert lists.element_spec.shape.as_list() == [None] and [e.tolist() for e in elements(lists)] == [[1], [2, 3]]
    for wrong, error, message in (([], ValueError, "should not be empty"), ((1, 2), ValueError, "must be a list"),
                                  ([(1, 2), 1], ValueError, "don't have the same nested structure"), ([1, "a"], TypeError, "different types")):
        with pytest.raises(error, match=message):
            from_list(wrong)
    with pytest.raises(RuntimeError, match="only supported in eager mode"):
        lists.as_numpy_iterator()


def test_names_become_those_of_operations():
    with tf.Graph().as_default() as graph:
        Dataset.range(4, name="numbers").map(lambda x: x, name="same").batch(2, name="pairs").prefetch(1, name="ahead")
        assert {"numbers", "same", "pairs", "ahead"} <= {op.name for op in graph.get_operations()}


def test_a_signature_says_what_is_yielded():
    signature = (tf.TensorSpec([], tf.int32), {"a": tf.TensorSpec([None], tf.float32)})
    dataset = Dataset.from_generator(lambda: ((i, {"a": [1.0] * i}) for i in range(3)), output_signature=signature)
    assert dataset.element_spec == signature
    assert [e["a"].tolist() for _, e in elements(dataset)] == [[], [1.0], [1.0, 1.0]]
    with pytest.raises(TypeError, match="can not be used together"):
        Dataset.from_generator(lambda: [], tf.int32, output_signature=signature)
    with pytest.raises(TypeError, match="TypeSpec"):
        Dataset.from_generator(lambda: [], output_signature=tf.int32)
    with pytest.raises(TypeError, match="must be given"):
        Dataset.from_generator(lambda: [])


def _yielding(signature, *values):
    return Dataset.from_generator(lambda: iter(values), output_signature=signature)


def test_generators_yield_ragged_and_sparse_tensors():
    ragged, sparse = tf.RaggedTensorSpec([None, None], tf.int32), tf.SparseTensorSpec([None, 3], tf.string)
    values = [tf.ragged.constant_value(rows, dtype=np.int32, ragged_rank=1) for rows in ([[1, 2], [3]], [[], [4]])]
    words = tf.SparseTensorValue([[0, 1]], ["seven"], [2, 3])
    dataset = _yielding((tf.TensorSpec([], tf.int64), {"r": ragged, "s": sparse}), *((i, {"r": v, "s": words}) for i, v in enumerate(values)))
    assert dataset.element_spec == (tf.TensorSpec([], tf.int64), {"r": ragged, "s": sparse})
    found = elements(dataset)
    assert [(int(i), e["r"].to_list()) for i, e in found] == [(0, [[1, 2], [3]]), (1, [[], [4]])]
    assert found[1][1]["s"].values.tolist() == [b"seven"] and found[1][1]["s"].dense_shape.tolist() == [2, 3]
    lengths = dataset.map(lambda i, e: e["r"].row_lengths())
    assert [x.tolist() for x in elements(lengths)] == [[2, 1], [0, 1]]
    assert [x.to_list() for x in elements(_yielding(ragged, *values).batch(2))] == [[[[1, 2], [3]], [[], [4]]]]
    deep = tf.ragged.constant_value([[[b"a"], []], []])
    assert [x.to_list() for x in elements(_yielding(tf.RaggedTensorSpec([2, None, None], tf.string), deep))] == [[[[b"a"], []], []]]


def test_generators_say_what_is_no_ragged_tensor():
    spec = tf.RaggedTensorSpec([2, None], tf.int32)
    constant = tf.ragged.constant_value
    for wrong in ([[1], [2]], np.ones([2, 2], np.int32), constant([[1.5], []]), constant([[[1]], []], dtype=np.int32),
                  constant([[1]], dtype=np.int32), tf.SparseTensorValue([[0, 1]], [7], [2, 3])):
        with pytest.raises(tf.errors.OpError, match="did not match the expected structure"):
            elements(_yielding(spec, wrong))
    with pytest.raises(tf.errors.OpError, match="did not match the expected structure"):
        elements(_yielding(tf.SparseTensorSpec([2, 3], tf.int32), tf.SparseTensorValue([[0, 1]], [7], [2, 4])))
    with pytest.raises(NotImplementedError, match="RaggedTensors and SparseTensors"):
        _yielding(tf.data.DatasetSpec(tf.TensorSpec([], tf.int32)))


def test_a_generator_that_cannot_begin_gives_one_error():
    calls = []

    def never():
        calls.append(1)
        raise ValueError("no data today")
    following = Dataset.from_generator(never, tf.int64).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        with pytest.raises(tf.errors.OpError, match="no data today"):
            session.run(following)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)
    assert elements(Dataset.from_generator(never, tf.int64).apply(tf.data.experimental.ignore_errors())) == []
    assert len(calls) == 2


def test_whoever_is_cancelled_the_dataset_is_made_for_the_others():
    goes_on, calls = threading.Event(), []

    def slow():
        calls.append(1)
        goes_on.wait(30)
        return np.int64(5)
    following = Dataset.range(tf.reshape(tf.py_func(slow, [], tf.int64), [])).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        given = []
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(following, options=tf.RunOptions(timeout_in_ms=100))
        other = threading.Thread(target=lambda: given.append(session.run(following)))
        other.start()
        goes_on.set()
        other.join(30)
        given.append(session.run(following))
    assert sorted(given) == [0, 1] and calls == [1]
