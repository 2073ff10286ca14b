# SPDX-License-Identifier: Apache-2.0
"""The state of an iterator belongs to its dataset."""
import numpy as np
import pytest

import thalweg as tf

Dataset = tf.data.Dataset


def _state_of(dataset, steps):
    """The state after so many elements, as bytes that another process could read; what comes then."""
    with tf.Graph().as_default():
        iterator = dataset().make_initializable_iterator()
        following = iterator.get_next()
        state = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
        with tf.Session() as session:
            session.run(iterator.initializer)
            for _ in range(steps):
                session.run(following)
            return session.run(state), session.run(following)


def _restored(dataset, state):
    """The element that comes after the state was restored."""
    with tf.Graph().as_default():
        tf.constant(1.0, name="other")  # names get other numbers
        tf.data.Dataset.range(2).map(lambda x: x + 1)
        iterator = dataset().make_initializable_iterator()
        following, serialized = iterator.get_next(), tf.placeholder(tf.variant, [])
        restore = tf.raw_ops.DeserializeIterator(resource_handle=iterator._iterator_resource, serialized=serialized)
        with tf.Session() as session:
            session.run(iterator.initializer)
            session.run(restore, {serialized: state})
            return session.run(following)


PAIRS = {
    "arguments": (lambda: Dataset.range(20).batch(3), lambda: Dataset.range(20).batch(4), "BatchDatasetV2, 1. from the end"),
    "sources": (lambda: Dataset.range(20).batch(3), lambda: Dataset.range(21).batch(3), "RangeDataset, 2. from the end"),
    "functions": (lambda: Dataset.range(20).map(lambda x: x * 2), lambda: Dataset.range(20).map(lambda x: x * 3), "MapDataset, 1."),
    "inner": (lambda: Dataset.range(9).flat_map(lambda x: Dataset.range(x).take(2)),
              lambda: Dataset.range(9).flat_map(lambda x: Dataset.range(x).take(3)), "FlatMapDataset, 1."),
    "operations": (lambda: Dataset.range(20).filter(lambda x: x < 5), lambda: Dataset.range(20).map(lambda x: x * 3),
                   "1. from the end was FilterDataset, and is MapDataset here"),
    "data": (lambda: Dataset.from_tensor_slices(np.arange(9)), lambda: Dataset.from_tensor_slices(np.arange(9) + 1),
             "TensorSliceDataset, 1."),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_state_of_another_dataset_is_refused(name):
    dataset, other, message = PAIRS[name]
    state, following = _state_of(dataset, 2)
    assert np.array_equal(_restored(dataset, state), following)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"that of another dataset: {message}"):
        _restored(other, state)


def test_what_tunes_a_dataset_may_change():
    first = Dataset.range
    state, following = _state_of(lambda: first(50).map(lambda x: x * 2, num_parallel_calls=2).prefetch(2), 5)
    assert _restored(lambda: first(50).map(lambda x: x * 2, num_parallel_calls=4).prefetch(5), state) == following


def test_files_may_move(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "lines.txt").write_text("1\n2\n3\n")
    (tmp_path / "b" / "others.txt").write_text("1\n2\n3\n")
    state, _ = _state_of(lambda: tf.data.TextLineDataset(str(tmp_path / "a" / "lines.txt")), 1)
    assert _restored(lambda: tf.data.TextLineDataset(str(tmp_path / "b" / "lines.txt")), state) == b"2"
    with pytest.raises(tf.errors.InvalidArgumentError, match="TextLineDataset, 1. from the end"):
        _restored(lambda: tf.data.TextLineDataset(str(tmp_path / "b" / "others.txt")), state)


def test_what_functions_have_captured_may_change():
    def scaled(by):
        return lambda: Dataset.range(9).map(lambda x, by=tf.constant(by, tf.int64): x * by)
    state, _ = _state_of(scaled(2), 2)
    assert _restored(scaled(3), state) == 6
