# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of 1 GB: saving.py checkpoint_save_1G|checkpoint_restore_1G|checkpoint_step_1G [--variant raw|tensorflow] [--dir FOLDER]

    checkpoint_save_1G      16 variables of 64 MB are saved, to the disk (fsync); raw: dd writes as much with O_DIRECT and fsync
    checkpoint_restore_1G   and restored while the file lies in the page cache; raw: dd reads it
    checkpoint_step_1G      a training step of 128 M weights with momentum while they are saved in the background; raw: while dd
                            writes as much. `ratio` to the same step alone, measured in turn; `first_ratio`: of the step that
                            follows save() at once, which copies what it changes; `blocked_s`: save() itself

What is saved is removed between the times. Disks are shared and noisy: compare with the raw variant of the same hour.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "peers"))
import common

a = common.options()
if a.variant == "tensorflow":
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
else:
    import thalweg as tf

BYTES, VARIABLES, LAYERS, WIDTH = 1 << 30, 16, 8, 4096
raw = a.variant == "raw"
folder = tempfile.mkdtemp(prefix="saving", dir=a.dir)
blocks = ["bs=8M", "count=%d" % (BYTES >> 23)]
config = tf.ConfigProto(intra_op_parallelism_threads=a.threads, inter_op_parallelism_threads=a.threads)


def dd(*arguments):
    return subprocess.Popen(["dd", *arguments], stderr=subprocess.DEVNULL)


def write_raw():
    return dd("if=/dev/zero", "of=" + os.path.join(folder, "raw"), "oflag=direct", "conv=fsync", *blocks)


def seconds(function, *arguments):
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def emit(times, **more):
    common.emit(a, "raw" if raw else "tensorflow" if a.variant else "thalweg", tf.__version__, times, foreign=None, **more)


def until_done(once):
    """Times of `once`, which gives them."""
    times, end = [], time.perf_counter() + a.seconds
    while len(times) < 4 or time.perf_counter() < end:
        times.append(once())
    return times


def plain_model():
    ones = tf.ones_initializer()
    return [tf.get_variable("v%d" % i, [BYTES // VARIABLES // 4], initializer=ones) for i in range(VARIABLES)]


def save_once(saver, session):
    path = os.path.join(folder, "m")
    took = seconds(lambda: write_raw().wait()) if raw else seconds(
        lambda: saver.save(session, path, write_meta_graph=False, write_state=False))
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    return took


def run_save(session, saver):
    save_once(saver, session)
    emit(until_done(lambda: save_once(saver, session)), bytes_=BYTES)


def run_restore(session, saver):
    path = saver.save(session, os.path.join(folder, "m"), write_meta_graph=False)
    data = path + ".data-00000-of-00001"

    def once():
        return seconds(lambda: dd("if=" + data, "of=/dev/null", "bs=8M").wait() if raw else saver.restore(session, path))
    for _ in range(2):  # into the cache
        dd("if=" + data, "of=/dev/null", "bs=8M").wait()
        once()
    emit(until_done(once), bytes_=BYTES)


def run_step():
    x = tf.constant([[0.01] * WIDTH] * 16)
    for i in range(LAYERS):
        weights = tf.get_variable("w%d" % i, [WIDTH, WIDTH], initializer=tf.random_normal_initializer(stddev=0.01))
        x = tf.nn.relu(tf.matmul(x, weights))
    train = tf.train.MomentumOptimizer(1e-6, 0.9).minimize(tf.reduce_mean(x))  # with their momentum 1 GB
    saver = tf.train.Saver(max_to_keep=1, async_save=True)
    alone, beside, first, blocked = [], [], [], []
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        end = time.perf_counter() + a.seconds
        while len(blocked) < 4 or time.perf_counter() < end:
            alone += [seconds(session.run, train) for _ in range(5)]
            began = time.perf_counter()
            if raw:
                process = write_raw()
            else:
                saver.save(session, os.path.join(folder, "m"), len(blocked), write_meta_graph=False)
            blocked.append(time.perf_counter() - began)
            times = beside if raw else first
            while process.poll() is None if raw else saver.is_saving:
                times.append(seconds(session.run, train))
                times = beside
    median = statistics.median(alone)
    emit(beside, alone_s=median, ratio=round(statistics.median(beside) / median, 3),
         first_ratio=round(statistics.median(first or beside) / median, 3), blocked_s=statistics.median(blocked))


try:
    if a.workload == "checkpoint_step_1G":
        run_step()
    else:
        variables = plain_model()
        with tf.Session(config=config) as s:
            s.run([v.initializer for v in variables])
            (run_save if a.workload == "checkpoint_save_1G" else run_restore)(s, tf.train.Saver(variables))
finally:
    shutil.rmtree(folder)
