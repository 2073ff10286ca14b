# SPDX-License-Identifier: Apache-2.0
"""Small programs that posts of 2017 taught TensorFlow with (papers E2, E12, E13)."""
import threading

import numpy as np
import pytest
import thalweg as tf
from test_server import three_servers  # noqa: F401  (the fixture `cluster`)


def test_one_weight_that_learns(tmp_path):
    """Papers E12: the weight shrinks by 5 % a step, and each step's numbers are in the log."""
    x, w = tf.constant(1.0), tf.Variable(0.8)
    y = w * x
    loss = tf.square(y - 0.0)
    train = tf.train.GradientDescentOptimizer(0.025).minimize(loss)
    for name, value in dict(input=x, weight=w, output=y, loss=loss).items():
        tf.summary.scalar(f"log/{name}", value)
    summaries = tf.summary.merge_all()
    with tf.Session() as session, tf.summary.FileWriter(str(tmp_path), session.graph) as writer:
        session.run(tf.global_variables_initializer())
        for step in range(100):
            writer.add_summary(session.run(summaries), step)
            session.run(train)
        assert session.run(w) == pytest.approx(0.8 * 0.95 ** 100, rel=1e-5) == pytest.approx(0.00474, abs=5e-6)
    [path] = tmp_path.iterdir()
    logged = [(e.step, v.simple_value) for e in tf.train.summary_iterator(str(path)) for v in e.summary.value if v.tag == "log/loss"]
    np.testing.assert_allclose([v for _, v in logged], [0.64 * 0.95 ** (2 * step) for step in range(100)], rtol=1e-4)
    assert [step for step, _ in logged] == list(range(100))


def test_means_of_two_groups(tmp_path):
    """Papers E13: a linear regression by a column of two words finds the mean of each, of 9 and of 7 rows."""
    words = np.array(["R", "D"] * 7 + ["R", "R"])
    noise = {"R": np.linspace(-1, 1, 9), "D": np.linspace(-2, 2, 7)}
    means = {"R": 2.544444, "D": 4.332857}
    growth = np.zeros(16, np.float32)
    for word in means:
        growth[words == word] = means[word] + noise[word]
    column = tf.feature_column.categorical_column_with_vocabulary_list("party", ["R", "D"])
    model = tf.estimator.LinearRegressor([column], model_dir=str(tmp_path))
    model.train(tf.estimator.inputs.numpy_input_fn({"party": words}, growth, batch_size=16, num_epochs=None, shuffle=False), steps=1000)
    asked = tf.estimator.inputs.numpy_input_fn({"party": np.array(["R", "D"])}, batch_size=2, num_epochs=1, shuffle=False)
    found = [row["predictions"][0] for row in model.predict(asked)]
    np.testing.assert_allclose(found, [2.544444, 4.332857], atol=0.01)
    assert model.latest_checkpoint().endswith("model.ckpt-1000")


def test_words_are_counted_by_many_tasks(cluster, tmp_path):
    """Papers E2: names of files in a queue on one task, a total on another, eight mappers that add to it under its lock."""
    texts = ["word " * n for n in range(1, 23)]
    for n, text in enumerate(texts):
        (tmp_path / f"{n}.txt").write_text(text)
    failures = []

    def session_of(task, build):
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                queue = tf.FIFOQueue(10, [tf.string], [[]], shared_name="posts_files")
            with tf.device("/job:worker/task:1"):
                total = tf.get_variable("posts_total", [], tf.int32, initializer=tf.zeros_initializer())
            with tf.Session(cluster[task].target) as session:
                build(session, queue, total)

    def count(session, queue, total):
        name, more = queue.dequeue(), tf.placeholder(tf.int32, [])
        add = total.assign_add(more, use_locking=True)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                with open(session.run(name)) as f:
                    session.run(add, {more: len(f.read().split())})

    def guarded(task, build):
        try:
            session_of(task, build)
        except BaseException as error:  # raised below
            failures.append(error)

    def fill(session, queue, total):
        name = tf.placeholder(tf.string, [])
        put, close = queue.enqueue(name), queue.close()
        for n in range(len(texts)):
            session.run(put, {name: str(tmp_path / f"{n}.txt")})
        session.run(close)

    session_of(0, lambda session, queue, total: session.run(total.initializer))
    threads = [threading.Thread(target=guarded, args=(1 + n % 2, count), daemon=True) for n in range(8)]
    threads.append(threading.Thread(target=guarded, args=(0, fill), daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures and not any(thread.is_alive() for thread in threads)
    session_of(0, lambda session, queue, total: failures.append(session.run(total)))
    assert failures == [sum(range(1, 23))]
