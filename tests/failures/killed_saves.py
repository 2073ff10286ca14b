# SPDX-License-Identifier: Apache-2.0
"""Processes that save are killed at random moments, and what they leave is read (users G1): python killed_saves.py [COUNT] [SEED].

Each writes step after step with a Saver that keeps two, or always under one name, or in the background, and says what is written.
It is killed with SIGKILL. The newest checkpoint must then load, every tensor of it from one step, and that step not older than what
had been said; and the next process leaves nothing of the files that the dead one had begun.
"""
import os
import random
import re
import signal
import time

import killing
import numpy as np
import thalweg as tf

MODES = ("numbered", "numbered in the background", "one name")
TENSORS, ELEMENTS = 6, 40_000


def save_for_ever(mode, folder, first, say):
    """In the process that will be killed; it says each step that is written."""
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.placeholder(tf.float32, [])
        variables = [tf.get_variable(f"v{i}", [ELEMENTS], use_resource=i % 2 == 0) for i in range(TENSORS)]
        change = [v.assign(tf.fill([ELEMENTS], value)) for v in variables]
        saver = tf.train.Saver(max_to_keep=2, async_save="background" in mode)
        session.graph.finalize()
        step, written = first, None
        while True:
            session.run(change, {value: step})
            # A save in the background begins when the one before is written.
            saver.save(session, os.path.join(folder, "m"), None if mode == "one name" else step, write_meta_graph=step % 3 == 0)
            told = written if saver.is_saving or "background" in mode else step
            if told is not None:
                say(str(told))
            step, written = step + 1, step


def newest(folder):
    """The step of the newest checkpoint, all of which is read."""
    path = tf.train.latest_checkpoint(folder)
    assert path is not None, f"no checkpoint is there, but {sorted(os.listdir(folder))}"
    reader = tf.train.load_checkpoint(path)
    values = [reader.get_tensor(name) for name in reader.get_variable_to_shape_map()]
    found = np.unique(np.concatenate(values))
    assert len(values) == TENSORS and len(found) == 1, f"{path} mixes the steps {found}"
    return int(found[0])


def kill_one(mode, folder, first, chance):
    """Starts a process, kills it, and gives what the newest checkpoint then has."""
    pid, lines = killing.start(lambda say: save_for_ever(mode, folder, first, say))
    with lines:
        begun = lines.readline()
        assert begun, "the process ended before it had written a checkpoint"
        time.sleep(chance.expovariate(1 / 0.03))  # when it dies is the test
        os.kill(pid, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
        told = int([begun, *lines][-1])
    found = newest(folder)
    assert told <= found <= told + 2, f"{mode}: step {found} is the newest, {told} had been written"
    return found


def leftovers(folder):
    """Files of no checkpoint that is there."""
    names = os.listdir(folder)
    whole = {name[:-len(".index")] for name in names if name.endswith(".index")}
    return sorted(name for name in names if name not in ("checkpoint", "graph") and not any(
        re.fullmatch(re.escape(prefix) + r"\.(index|meta|data-\d+-of-\d+)", name) for prefix in whole))


def play(count, seed, folder):
    """How many kills left something half-written behind."""
    chance, step, unfinished = random.Random(seed), dict.fromkeys(MODES, 0), 0
    for i in range(count):
        mode = MODES[i % len(MODES)]
        place = os.path.join(folder, mode.replace(" ", "_"))
        os.makedirs(place, exist_ok=True)
        step[mode] = kill_one(mode, place, step[mode] + 1, chance)
        unfinished += bool(leftovers(place))
    for mode in MODES:  # a process that ends well leaves nothing of all those
        place = os.path.join(folder, mode.replace(" ", "_"))
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", initializer=1.0)
            session.run(v.initializer)
            tf.train.Saver().save(session, os.path.join(place, "last"))
        assert not leftovers(place), f"{mode}: {leftovers(place)} stay"
    return unfinished


if __name__ == "__main__":
    killing.main(play, "{count} processes were killed in {seconds} s: the newest checkpoint was whole each time; {found} of them left files "
                 "that they had begun, and none of these stayed", 1000)
