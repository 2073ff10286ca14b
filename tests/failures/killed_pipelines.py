# SPDX-License-Identifier: Apache-2.0
"""Workers are killed in the middle of a dataset, and go on exactly where their checkpoint stood: python killed_pipelines.py [COUNT] [SEED].

Each trains on a pipeline that shuffles, maps and interleaves in parallel, batches and prefetches; a MonitoredTrainingSession saves the
place of its iterator beside the step. It says each batch as it takes it, and is killed with SIGKILL after some of them. The next one must
begin with the step of the newest checkpoint and take, step by step, what a worker takes that nobody kills.
"""
import json
import os
import random
import shutil
import signal

import killing
import thalweg as tf

ELEMENTS, BATCH, SAVED_EVERY = 600, 4, 3


def pipeline():
    numbers = tf.data.Dataset.range(ELEMENTS).shuffle(50, seed=3)
    squares = numbers.map(lambda x: x * x % 997, num_parallel_calls=4)
    pairs = squares.interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=3, num_parallel_calls=2)
    return pairs.batch(BATCH).prefetch(2)


def train(folder, say):
    """To the end of the dataset, from the checkpoint that there is."""
    with tf.Graph().as_default():
        iterator = pipeline().make_one_shot_iterator()
        batch, step = iterator.get_next(), tf.train.get_or_create_global_step()
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator))
        with tf.control_dependencies([batch]):
            taken = tf.assign_add(step, 1)
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_steps=SAVED_EVERY, save_checkpoint_secs=None) as session:
            while not session.should_stop():
                values, now = session.run([batch, taken])
                say(int(now), values.tolist())


def saved_step(folder):
    """That of the newest checkpoint; 0 before the first."""
    path = tf.train.latest_checkpoint(folder)
    return 0 if path is None else int(tf.train.load_variable(path, "global_step"))


def run_one(folder, most):
    """A worker that is killed once it has said `most` batches; what it said, and whether it was."""
    pid, lines = killing.start(lambda say: train(folder, lambda step, batch: say(json.dumps([step, batch]))))
    with lines:
        found = []
        for line in lines:
            found.append(json.loads(line))
            if len(found) == most:
                os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the worker failed"
    return found, os.WIFSIGNALED(status)


def play(count, seed, folder):
    """How many batches were taken again, as they had been taken behind the last checkpoint."""
    chance = random.Random(seed)
    whole, killed = run_one(os.path.join(folder, "whole"), None)
    assert not killed and [step for step, _ in whole] == list(range(1, len(whole) + 1)), "steps of a worker that nobody kills"
    expected, place, kills, again = dict(whole), os.path.join(folder, "parts"), 0, 0
    while kills < count:
        begins = saved_step(place)
        if begins == len(whole):
            shutil.rmtree(place)
            begins = 0
        found, killed = run_one(place, chance.randrange(1, max(2, min(40, len(whole) - begins))))
        assert found[0][0] == begins + 1, f"kill {kills}: the checkpoint stood at {begins}, the worker went on with {found[0]}"
        wrong = [(step, batch, expected[step]) for step, batch in found if batch != expected[step]]
        assert not wrong, f"kill {kills}: step, batch, and what it is without kills: {wrong[:3]}"
        assert killed or found[-1][0] == len(whole)  # the end may come before the kill
        kills += killed
        again += found[-1][0] - saved_step(place)
    found, killed = run_one(place, None)
    assert not killed and all(batch == expected[step] for step, batch in found) and saved_step(place) == len(whole)
    return again


if __name__ == "__main__":
    killing.main(play, "{count} workers were killed in the middle of a dataset in {seconds} s: each next one went on where the checkpoint stood; "
                 "{found} batches were taken again", 20)
