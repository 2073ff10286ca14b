# SPDX-License-Identifier: Apache-2.0
"""What the stages of datasets keep counts against the memory limit of their server (users A1)."""
import numpy as np
import pytest

import thalweg as tf

Dataset = tf.data.Dataset


@pytest.fixture
def target():
    server = tf.train.Server({"local": ["127.0.0.1:0"]}, memory_limit=8 << 20)
    yield server.target
    server.stop()


def _arrays(count):
    """Elements of 100 kB, in memory of Python."""
    return Dataset.from_generator(lambda: (np.full([25000], i, np.int32) for i in range(count)), tf.int32, [25000])


KEEPERS = {
    "Shuffle": lambda d: d.shuffle(1000, seed=1),
    "Cache": lambda d: d.cache(),
    "Batch": lambda d: d.batch(1000),
    "Window": lambda d: d.window(1000).flat_map(lambda w: w),
    "GroupByWindow": lambda d: d.apply(tf.data.experimental.group_by_window(lambda x: np.int64(0), lambda k, w: w, 1000)),
}


@pytest.mark.parametrize("stage", KEEPERS)
def test_a_stage_that_keeps_too_much_says_so(target, stage):
    count = tf.placeholder(tf.int64, [])
    iterator = KEEPERS[stage](_arrays(200).take(count)).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session(target) as session:
        for _ in range(3):  # each pass finds the memory free again
            session.run(iterator.initializer, {count: 200})
            # The last of them may be an array that the generator makes for the stage.
            with pytest.raises(tf.errors.ResourceExhaustedError, match=rf"a {stage} stage, which keeps \d\d elements of \d+ bytes|asked for(.|\n)*GeneratorDataset"):
                for _ in range(200):
                    session.run(following)
        session.run(iterator.initializer, {count: 40})
        assert len(session.run(following)) > 0


@pytest.mark.parametrize("buffer_size", [1000, -1])
def test_a_prefetch_makes_no_more_than_there_is_room_for(target, buffer_size):
    following = _arrays(200).prefetch(buffer_size).make_one_shot_iterator().get_next()
    with tf.Session(target) as session:
        assert [session.run(following)[0] for _ in range(200)] == list(range(200))
