# SPDX-License-Identifier: Apache-2.0
"""A long synchronous run with random kills: `./dev soak [STEPS]`, or python soak.py [STEPS] [SEED] [FOLDER].

A parameter server, a chief and two workers train; every now and then one of them, whichever, is killed and started again. The
gradient of step n is one at place n of a vector, and zero elsewhere; so the vector says how often each step was applied. It is
checked after every restore and at the end: each step once, none twice, none missing, and the count of steps is theirs. A restore
gives the newest checkpoint that was complete, or a newer one. The memory of every process is watched.
"""
import os
import random
import re
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples", "cluster"))

import numpy as np  # noqa: E402
import tasks  # noqa: E402
import thalweg as tf  # noqa: E402

SAVED_EVERY, REPLICAS = 25, 3


def check(step, counts):
    """Raises unless steps before this one were applied once, and no other."""
    wanted = (np.arange(len(counts)) < step).astype(np.float32)
    wrong = np.flatnonzero(counts != wanted)
    if wrong.size:
        raise AssertionError(f"at step {step} the steps {wrong[:5]} were applied {counts[wrong[:5]]} times")


class Restored(tf.train.SessionRunHook):
    """Looks at what a session begins with, before anything is updated."""

    def __init__(self, step, counts):
        self._state = [step, counts]

    def after_create_session(self, session, coord):
        step, counts = session.run(self._state)
        check(step, counts)
        print(f"begins at {step}", flush=True)


class Saved(tf.train.CheckpointSaverListener):
    def after_save(self, session, global_step_value):
        print(f"saved {global_step_value}", flush=True)


class Memory:
    """How much the processes of each job have grown, at most, since they were warm."""

    WARM, EVERY, MOST = 100, 20, 64  # steps; steps; MB

    def __init__(self):
        self._begun, self._warm, self._next = {}, {}, 0
        self.growth, self.steps = {}, 0  # MB by job; of the process that was watched longest

    def look(self, processes, step):
        if 0 <= self._next - step <= self.EVERY:
            return
        self._next = step + self.EVERY
        for (job, _), process in processes.items():
            age = step - self._begun.setdefault(process.pid, step)
            if age >= self.WARM and process.poll() is None:
                held = self._resident(process.pid)
                grown = held - self._warm.setdefault(process.pid, held)
                self.growth[job] = max(self.growth.get(job, 0), grown)
                self.steps = max(self.steps, age - self.WARM)
                assert grown < self.MOST, f"a process of {job} has grown by {grown:.0f} MB within {age} steps"

    @staticmethod
    def _resident(pid):
        with open(f"/proc/{pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def replica(cluster, job, task, steps, folder):
    server, me, chief = tf.train.Server(cluster, job, task), f"/job:{job}/task:{task}", job == "chief"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=me)):
        step = tf.train.get_or_create_global_step()
        counts = tf.get_variable("counts", [steps + REPLICAS], initializer=tf.zeros_initializer())
        loss = -tf.reduce_sum(counts * tf.one_hot(step, steps + REPLICAS))
        sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), REPLICAS)
        train = sync.minimize(loss, global_step=step)
    hooks = [sync.make_session_run_hook(chief), tf.train.StopAtStepHook(last_step=steps)]
    first = []
    if chief:
        first = [Restored(step, counts), tf.train.CheckpointSaverHook(folder, save_steps=SAVED_EVERY, listeners=[Saved()])]
    seen = tf.ConfigProto(device_filters=["/job:ps", me])
    with tf.train.MonitoredTrainingSession(
            server.target, chief, folder if chief else None, hooks=first + hooks, config=seen, save_checkpoint_secs=None,
            save_summaries_steps=None, log_step_count_steps=None, stop_grace_period_secs=5) as session:
        while not session.should_stop():
            token = session.run(train)
            if chief:
                print(f"step {token}", flush=True)
    if chief:
        with tf.Session(server.target, config=seen) as session:
            reached, applied = session.run([step, counts])
        check(reached, applied)
        print(f"ends at {reached}", flush=True)


def task(spec, job, number, steps, folder):
    cluster = tf.train.ClusterSpec(spec)
    if job == "ps":
        tf.train.Server(cluster, job, number).join()
    else:
        replica(cluster, job, number, steps, folder)


class Soak:
    """Starts the tasks, kills some, and follows what the chief says."""

    def __init__(self, steps, seed, folder):
        self.steps, self.random, self.kills = steps, random.Random(seed), []
        self.cluster = tasks.Cluster({"ps": 1, "chief": 1, "worker": 2}, [steps, seed, folder])
        self.processes, self.memory, self.begun = {}, Memory(), time.monotonic()
        self.saved = self.now = 0
        self.again = []  # steps that each restore lost
        self.pause = max(60, steps // 40)
        self.next_kill = self.pause

    def start(self, job, number, **options):
        self.processes[job, number] = self.cluster.start(job, number, **options)
        return self.processes[job, number]

    def follow(self, chief):
        """Reads until the chief ends; gives whether it reached the end."""
        for line in chief.stdout:
            word, number = re.match(r"(\w+)(?: at)? (\d+)", line).groups()
            number = int(number)
            if word == "begins" and self.now:
                assert number >= self.saved, f"restored step {number} although step {self.saved} was saved"
                self.again.append(max(self.now - number, 0))
            elif word == "saved":
                self.saved = number
            elif word == "ends":
                assert number == self.steps, f"ended at step {number}, not {self.steps}"
                return True
            elif word == "step":
                self.now = number
                self.memory.look(self.processes, number)
                if number >= self.next_kill and number < self.steps - 10:
                    self.kill()
                    if ("chief", 0) not in self.cluster:
                        break
        return False

    def kill(self):
        victim = self.random.choice(list(self.names()))
        self.cluster.kill(*victim)
        del self.processes[victim]
        self.kills.append(victim[0])
        self.next_kill = self.now + self.random.randint(self.pause // 2, self.pause)
        if victim[0] != "chief":
            self.start(*victim)

    def names(self):
        return [(job, n) for job, addresses in self.cluster.spec.items() for n in range(len(addresses))]

    def run(self):
        with self.cluster:
            for job, number in self.names():
                if job != "chief":
                    self.start(job, number)
            while not self.follow(self.start("chief", 0, stdout=-1, text=True)):
                assert self.kills and self.kills[-1] == "chief" and ("chief", 0) not in self.cluster, "the chief has failed"
        return self.summary()

    def summary(self):
        seconds = time.monotonic() - self.begun
        killed = ", ".join(f"{job} {self.kills.count(job)}" for job in self.cluster.spec)
        grown = ", ".join(f"{job} {grown:.1f} MB" for job, grown in self.memory.growth.items()) or "too short to tell"
        return (f"{self.steps} steps in {seconds:.0f} s, each applied once\n"
                f"killed: {killed}\n"
                f"restored: {len(self.again)} times, each time the newest checkpoint or a newer one (one every {SAVED_EVERY} steps); "
                f"{sum(self.again)} steps done again, at most {max(self.again, default=0)} at once\n"
                f"memory, the most that a process grew by: {grown} (over {self.memory.steps} steps)")


if __name__ == "__main__":
    last = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    chosen_seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if tasks.mine():
        task(*tasks.mine(), last, sys.argv[3])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            print(Soak(last, chosen_seed, sys.argv[3] if len(sys.argv) > 3 else temporary).run())
