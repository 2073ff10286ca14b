# SPDX-License-Identifier: Apache-2.0
"""Caches of datasets in files; pipelines whose order is left open."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from dataset_elements import elements

import thalweg as tf

Dataset = tf.data.Dataset


def test_a_cache_in_files_is_made_once(tmp_path):
    calls = []

    def note(x):
        calls.append(x)
        return x * 2
    cached = Dataset.range(4).map(lambda x: (tf.reshape(tf.py_func(note, [x], tf.int64), []), tf.as_string(x))).cache(str(tmp_path / "c"))
    assert elements(cached.take(2)) == [(0, b"0"), (2, b"1")]
    assert os.listdir(tmp_path) == []  # a pass that was not brought to its end leaves nothing
    assert elements(cached.repeat(2).map(lambda a, b: a)) == [0, 2, 4, 6] * 2 and len(calls) == 6
    assert sorted(os.listdir(tmp_path)) == ["c.data-00000-of-00001", "c.index"]
    assert elements(cached.map(lambda a, b: a)) == [0, 2, 4, 6] and len(calls) == 6


def test_what_a_killed_process_leaves_is_named(tmp_path):
    program = f"""
import os, thalweg as tf
following = tf.data.Dataset.range(9).cache({str(tmp_path / "c")!r}).make_one_shot_iterator().get_next()
session = tf.Session()
session.run(following)
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    cached = Dataset.range(9).cache(str(tmp_path / "c"))
    with pytest.raises(tf.errors.AlreadyExistsError, match=r"c_0\.lockfile.*delete the lockfile"):
        elements(cached)
    os.remove(tmp_path / "c_0.lockfile")
    assert elements(cached) == list(range(9))


def test_a_cache_of_other_elements_is_refused(tmp_path):
    elements(Dataset.range(4).cache(str(tmp_path / "c")))
    with pytest.raises(tf.errors.InvalidArgumentError, match="c, element 0: Data type mismatch"):
        elements(Dataset.range(4).map(lambda x: tf.cast(x, tf.float32)).cache(str(tmp_path / "c")))
    (tmp_path / "c.data-00000-of-00001").write_bytes(b"short")
    with pytest.raises(tf.errors.DataLossError, match="c.data-00000-of-00001"):
        elements(Dataset.range(4).cache(str(tmp_path / "c")))


def test_the_order_may_be_left_open():
    options = tf.data.Options()
    options.experimental_deterministic = False
    numbers = Dataset.range(20).interleave(lambda x: Dataset.from_tensors(x).repeat(3), 4, 1, num_parallel_calls=2)
    opened = numbers.map(lambda x: x + 1, num_parallel_calls=3).with_options(options)
    assert opened.options().experimental_deterministic is False
    assert sorted(elements(opened)) == sorted(list(range(1, 21)) * 3)
    assert sorted(elements(Dataset.range(9).map(lambda x: x, 3, deterministic=False).with_options(options))) == list(range(9))
    fixed = Dataset.range(30).map(lambda x: x, num_parallel_calls=3, deterministic=True).with_options(options)
    assert elements(fixed) == list(range(30))
    assert opened._variant.op.type == "OptimizeDataset"
    kept = Dataset.range(20).interleave(lambda x: Dataset.from_tensors(x).repeat(3), 4, 1, num_parallel_calls=2, deterministic=True)
    assert elements(kept.with_options(options)) == elements(numbers)
    assert np.array_equal(elements(numbers), elements(numbers))


def test_order_is_left_open_for_what_comes_before_alone():
    """Where options stand among others changes nothing: not the order of the arguments of a zip, either."""
    options = tf.data.Options()
    options.experimental_deterministic = False

    second_ran = threading.Event()

    def overtaken(n):
        """The first call ends behind the second."""
        if n == 0:
            assert second_ran.wait(60)
        elif n == 1:
            second_ran.set()
        return n
    numbers = Dataset.range(40).map(lambda x: tf.reshape(tf.py_func(overtaken, [x], tf.int64), []), num_parallel_calls=8)
    opened = Dataset.range(40).with_options(options)
    for pair in ((opened, numbers), (numbers, opened)):
        second_ran.clear()
        session = tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=4))
        assert [a == b for a, b in elements(Dataset.zip(pair), session)] == [True] * 40
