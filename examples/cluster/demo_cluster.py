# SPDX-License-Identifier: Apache-2.0
"""Trains the net of `./dev demo` on a cluster of this machine: a parameter server, a chief and two workers. Two gradients of three
make a step; half-way one worker is killed, and comes back later: `./dev demo cluster`.

    python demo_cluster.py [FOLDER]      FOLDER gets the checkpoints; build/demo_cluster without it
"""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "python"))

import numpy as np  # noqa: E402
import tasks  # noqa: E402
import thalweg as tf  # noqa: E402

import demo  # noqa: E402
import digits  # noqa: E402

STEPS, BATCH, REPLICAS, NEEDED = 700, 48, 3, 2


def batches(part, seed):
    epoch = 0
    while True:
        yield from part.batches(BATCH, seed=seed + 1000 * epoch)
        epoch += 1


def build(cluster, me):
    """(the net, its synchronous optimizer): variables on the ps, the rest here."""
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=me)):
        step = tf.train.get_or_create_global_step()
        rate = tf.train.polynomial_decay(2e-3, step, STEPS, 1e-5)
        sync = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(rate), NEEDED, REPLICAS)
        return demo.Net(0, lambda fed: sync, step), sync


def replica(spec, job, task, folder):
    """What chief and workers do."""
    cluster = tf.train.ClusterSpec(spec)
    server, me = tf.train.Server(cluster, job, task), f"/job:{job}/task:{task}"
    seen = tf.ConfigProto(device_filters=["/job:ps", me])  # this task needs none but the ps and itself
    net, sync = build(cluster, me)
    step, chief = tf.train.get_global_step(), job == "chief"
    part, _, test = digits.load()
    random, data = np.random.RandomState(task + 10 * chief), batches(part, 100 * task + 50 * chief)
    hooks = [sync.make_session_run_hook(chief), tf.train.StopAtStepHook(last_step=STEPS)]
    with tf.train.MonitoredTrainingSession(server.target, chief, folder if chief else None, hooks=hooks, config=seen,
                                           save_checkpoint_steps=100, save_summaries_steps=None, log_step_count_steps=None,
                                           stop_grace_period_secs=5) as session:
        print(f"{me} trains", flush=True)
        while not session.should_stop():
            images, labels = next(data)
            loss, now, _ = session.run([net.loss, step, net.step], {net.images: demo.moved(images, random), net.labels: labels})
            if chief:
                print(f"step {now} loss {loss:.4f}", flush=True)
    if chief:
        with tf.Session(server.target, config=seen) as session:
            accuracy = session.run(net.accuracy, {net.images: test.images, net.labels: test.labels})
        print(f"test accuracy: {accuracy:.4f}", flush=True)


def task(spec, job, number, folder):
    if job == "ps":
        tf.train.Server(tf.train.ClusterSpec(spec), job, number).join()
    else:
        replica(spec, job, number, folder)


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    print(f"a parameter server, a chief and two workers on this machine; {NEEDED} gradients of {REPLICAS} make a step", flush=True)
    away = shown = 0
    with tasks.Cluster({"ps": 1, "chief": 1, "worker": 2}, [folder]) as cluster:
        cluster.start("ps", 0)
        for number in (0, 1):
            cluster.start("worker", number)
        chief = cluster.start("chief", 0, stdout=-1, text=True)
        for line in chief.stdout:
            progress = re.match(r"step (\d+) ", line)
            if not progress:
                print(line, end="", flush=True)
                continue
            now = int(progress[1])
            if now >= shown:
                print(line, end="", flush=True)
                shown = now + 50
            if not away and now >= STEPS // 2:
                away = now
                cluster.kill("worker", 1)
                print("/job:worker/task:1 is killed", flush=True)
            if away and away + 50 <= now and ("worker", 1) not in cluster:
                cluster.start("worker", 1)
                print("/job:worker/task:1 is started again", flush=True)
        return chief.wait()


if __name__ == "__main__":
    build_folder = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "demo_cluster")
    chosen = sys.argv[1] if len(sys.argv) > 1 else build_folder
    sys.exit(task(*tasks.mine(), chosen) if tasks.mine() else main(chosen))
