# SPDX-License-Identifier: Apache-2.0
"""Where iterators stand, in checkpoints: a state belongs to its dataset, and goes on exactly where it was saved."""
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


def _numbers():
    return Dataset.range(40).shuffle(9, seed=3).map(lambda x: x * x, num_parallel_calls=2).batch(2).prefetch(2)


@pytest.fixture(params=["local", "server"])
def target(request):
    if request.param == "local":
        yield ""
    else:
        server = tf.train.Server.create_local_server()
        yield server.target
        server.stop()


def test_a_saver_saves_an_iterator_in_its_middle(tmp_path, target):
    path, expected = str(tmp_path / "model"), []
    with tf.Graph().as_default():
        iterator = _numbers().make_initializable_iterator()
        following, v = iterator.get_next(), tf.get_variable("v", initializer=1.0)
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator))
        saver = tf.train.Saver()
        with tf.Session(target) as session:
            session.run([iterator.initializer, tf.global_variables_initializer()])
            for _ in range(7):
                session.run(following)
            session.run(v.assign(5.0))
            saver.save(session, path)
            expected = [session.run(following).tolist() for _ in range(13)]
            saver.restore(session, path)
            assert [session.run(following).tolist() for _ in range(13)] == expected
    assert ("IteratorV2:0-state", []) in tf.train.list_variables(path)
    with tf.Graph().as_default():  # as a new process would
        iterator = _numbers().make_initializable_iterator()
        following, v = iterator.get_next(), tf.get_variable("v", initializer=1.0)
        saver = tf.train.Saver([v, tf.data.experimental.make_saveable_from_iterator(iterator)])
        with tf.Session(target) as session:
            if not target:  # on a server it is still there
                with pytest.raises(tf.errors.FailedPreconditionError, match="run its initializer"):
                    saver.restore(session, path)
            session.run(iterator.initializer)
            saver.restore(session, path)
            assert session.run(v) == 5.0
            assert [session.run(following).tolist() for _ in range(13)] == expected
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(following)


def _train(folder, steps, target, batches):
    """Trains on, from the checkpoint that there is: the batches of these steps."""
    with tf.Graph().as_default():
        iterator = _numbers().make_one_shot_iterator()
        following, step = iterator.get_next(), tf.train.get_or_create_global_step()
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator))
        with tf.control_dependencies([following]):
            train = tf.assign_add(step, 1)
        with tf.train.MonitoredTrainingSession(target, checkpoint_dir=folder, save_checkpoint_steps=4, save_checkpoint_secs=None,
                                               hooks=[tf.train.StopAtStepHook(num_steps=steps)]) as session:
            while not session.should_stop():
                batches.append(session.run([following, train])[0].tolist())


def test_a_monitored_session_goes_on_where_it_was_saved(tmp_path, target):
    whole, parts = [], []
    _train(str(tmp_path / "whole"), 20, target, whole)
    for _ in range(4):
        _train(str(tmp_path / "parts"), 5, target, parts)
    assert sum(whole, []) != sorted(sum(whole, [])) and parts == whole


def test_a_hook_saves_all_iterators_for_an_estimator(tmp_path):
    seen = []

    def model(features, labels, mode):
        def note(x):
            seen.append(int(x[0]))
            return np.float32(0)
        noted = tf.py_func(note, [features["x"]], tf.float32)
        step = tf.train.get_or_create_global_step()
        v = tf.get_variable("v", [])
        return tf.estimator.EstimatorSpec(mode, loss=v + 0.0 * tf.reshape(noted, []), train_op=tf.assign_add(step, 1))

    def train(folder, steps):
        estimator = tf.estimator.Estimator(model, str(folder), tf.estimator.RunConfig(save_checkpoints_steps=3))
        hook = tf.data.experimental.CheckpointInputPipelineHook(estimator)
        estimator.train(lambda: Dataset.range(30).shuffle(7, seed=2).batch(1).map(lambda x: ({"x": x}, x)), hooks=[hook], steps=steps)

    train(tmp_path / "whole", 12)
    whole, seen[:] = list(seen), []
    for _ in range(3):
        train(tmp_path / "parts", 4)
    assert len(whole) == 12 and seen == whole
    assert (tmp_path / "parts" / "checkpoint_input").exists()


def _rows():
    return tf.ragged.constant([[[1, 2], [3]], [], [[4], [], [5, 6]], [[7]], [[8, 9]]])


def _texts():
    return tf.ragged.constant([["a", "bc"], [], ["d"], ["e", "f"]], row_splits_dtype=tf.int32)


HOLDERS = {
    "shuffled rows": lambda: Dataset.from_tensor_slices(_rows()).shuffle(3, seed=1),
    "shuffled batches": lambda: Dataset.from_tensor_slices(_rows()).batch(2).shuffle(2, seed=1).repeat(2),
    "prefetched": lambda: Dataset.range(9).map(lambda n: tf.ragged.range([n, n + 1])).prefetch(3),
    "cached": lambda: Dataset.from_tensor_slices(_texts()).batch(1).cache().repeat(2),
    "texts": lambda: Dataset.from_tensors(_texts()).repeat(6).shuffle(3, seed=1),
    "in batches of ranges": lambda: Dataset.range(8).map(tf.range).ragged_batch(2).shuffle(3, seed=2),
    "sparse": lambda: Dataset.from_tensor_slices(tf.SparseTensor([[0, 0], [2, 1], [3, 0]], [5, 6, 7], [5, 3])).shuffle(3, seed=1),
}


def _plain(value):
    return value.to_list() if hasattr(value, "to_list") else [np.asarray(part).tolist() for part in value]


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_passes_that_hold_rows_go_on_where_they_were(name, steps):
    state, following = _state_of(HOLDERS[name], steps)
    assert _plain(_restored(HOLDERS[name], state)) == _plain(following)
