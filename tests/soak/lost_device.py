# SPDX-License-Identifier: Apache-2.0
"""A long training run on a device that is lost in the middle of steps: `./dev soak`, or python lost_device.py [STEPS] [SEED].

The fake device is taken away by a function that a step calls, between two of the device's kernels; now and then it stays away for a
while, and the next session trains on the CPU. As in soak.py, the gradient of step n is one at place n: after every restore, and at
the end, each step was applied once.
"""
import os
import random
import sys
import tempfile
import time

import numpy as np
import soak
import thalweg as tf

SAVED_EVERY, AWAY = 10, 15  # steps; how long the CPU has them


class Device:
    """Takes the device away, and brings it back."""

    def __init__(self, file, seed):
        self._file, self._random = file, random.Random(seed)
        self.lost = 0
        self._next = self._random.randint(10, 40)

    def maybe_lose(self, step):
        if step >= self._next and not self.is_away():
            self._next = int(step) + self._random.randint(10, 40)
            self.lost += 1
            with open(self._file, "w", encoding="ascii"):
                pass
        return np.float32(1)

    def is_away(self):
        return os.path.exists(self._file)

    def come_back(self):
        os.remove(self._file)

    def stays_away(self):
        return self._random.random() < 0.3


class Creator(tf.train.ChiefSessionCreator):
    """Sessions of the run: what each had."""

    def __init__(self, device, folder):
        super().__init__(checkpoint_dir=folder)
        self._device = device
        self.on_device, self.on_cpu = 0, 0

    def create_session(self):
        if self._device.is_away() and not self._device.stays_away():
            self._device.come_back()
        self.on_cpu += self._device.is_away()
        self.on_device += not self._device.is_away()
        return super().create_session()


class Return(tf.train.SessionRunHook):
    """When the CPU has had some steps, the device comes back, and a new session is asked for."""

    def __init__(self, device, step):
        self._device, self._step, self._steps = device, step, 0

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        self._steps = self._steps + 1 if self._device.is_away() else 0
        if self._steps >= AWAY:
            self._device.come_back()
            raise tf.errors.UnavailableError(None, None, "the device is back")


def run(steps, seed, folder):
    device = Device(os.environ["THALWEG_FAKE_DEVICE_GONE"], seed)
    begun = time.monotonic()
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        counts = tf.get_variable("counts", [steps], initializer=tf.zeros_initializer(), use_resource=True)
        early = tf.reduce_sum(tf.exp(tf.zeros([4]) * tf.cast(step, tf.float32)))  # the device is at work when it goes
        with tf.control_dependencies([early]):
            one = tf.py_func(device.maybe_lose, [step], tf.float32)
        one.set_shape([])
        loss = -tf.reduce_sum(counts * tf.one_hot(step, steps)) * one
        train = tf.train.GradientDescentOptimizer(1.0).minimize(loss, global_step=step)
        creator = Creator(device, folder)
        hooks = [soak.Restored(step, counts), tf.train.CheckpointSaverHook(folder, save_steps=SAVED_EVERY), Return(device, step),
                 tf.train.StopAtStepHook(last_step=steps)]
        with tf.train.MonitoredSession(creator, hooks) as session:
            while not session.should_stop():
                session.run(train)
        if device.is_away():
            device.come_back()
        with tf.Session() as session:
            tf.train.Saver().restore(session, tf.train.latest_checkpoint(folder))
            reached, applied = session.run([step, counts])
        assert reached == steps, f"ended at step {reached}, not {steps}"
        soak.check(reached, applied)
    return (f"{steps} steps in {time.monotonic() - begun:.0f} s, each applied once\n"
            f"device lost: {device.lost} times in the middle of a step; sessions with it {creator.on_device}, on the CPU {creator.on_cpu}")


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(THALWEG_DEVICE_COUNT="FAKE=1", THALWEG_FAKE_DEVICE_GONE=os.path.join(folder, "gone"))
        print(run(steps, seed, os.path.join(folder, "checkpoints")))


if __name__ == "__main__":
    main()
