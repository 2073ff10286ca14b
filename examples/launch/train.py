# SPDX-License-Identifier: Apache-2.0
"""One task of a small training, whoever has started it: a parameter server holds the variables, workers improve them side by side.

    python train.py                       the cluster of TF_CONFIG
    srun python train.py --slurm ps=1,worker=2

Certificates, where machines other than this one are meant: THALWEG_TLS_CERT, THALWEG_TLS_KEY, THALWEG_TLS_CA.
"""
import argparse
import os

import numpy as np
import thalweg as tf

WANTED = np.array([1.0, -2.0, 3.0, 0.5], np.float32)


def certificates():
    files = [os.environ.get(f"THALWEG_TLS_{name}") for name in ("CERT", "KEY", "CA")]
    return files if all(files) else None


def everyones_end(spec, ps):
    """A queue on a parameter server: every worker that is done puts a word in."""
    with tf.device(f"/job:ps/task:{ps}"):
        return tf.FIFOQueue(spec.num_tasks("worker"), [tf.int32], shared_name=f"ended_{ps}")


def serve_parameters(server, spec, task):
    with tf.Graph().as_default():
        word = everyones_end(spec, task).dequeue()
        with tf.Session(server.target, config=tf.ConfigProto(device_filters=[f"/job:ps/task:{task}"])) as session:
            for _ in range(spec.num_tasks("worker")):
                session.run(word)
    print(f"ps {task}: all workers are done", flush=True)


def work(server, spec, task, steps):
    me = f"/job:worker/task:{task}"
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device=me)):
            step = tf.train.get_or_create_global_step()
            weights = tf.get_variable("weights", [4], initializer=tf.zeros_initializer())
            x = tf.placeholder(tf.float32, [None, 4])
            y = tf.placeholder(tf.float32, [None])
            loss = tf.reduce_mean(tf.square(tf.reduce_sum(x * weights, 1) - y))
            train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
        words = [everyones_end(spec, ps).enqueue([task]) for ps in range(spec.num_tasks("ps"))]
        config = tf.ConfigProto(device_filters=["/job:ps", me])
        random = np.random.RandomState(task)
        with tf.train.MonitoredTrainingSession(master=server.target, is_chief=task == 0, config=config,
                                               max_wait_secs=60, hooks=[tf.train.StopAtStepHook(last_step=steps)]) as session:
            last = None
            while not session.should_stop():
                batch = random.normal(size=(16, 4)).astype(np.float32)
                last, _ = session.run([loss, train], {x: batch, y: batch @ WANTED})
        with tf.Session(server.target, config=config) as session:
            found = session.run(weights)
            session.run(words)
    print(f"worker {task}: loss {last:.6f}, weights {np.round(found, 2).tolist()}", flush=True)


def run(resolver, steps=300):
    """This process as the task that the resolver says, until the training is over."""
    spec, job, task = resolver.cluster_spec(), resolver.task_type, resolver.task_id
    server = tf.train.Server(spec, job, task, tls=certificates())
    print(f"{job} {task}: ready", flush=True)
    try:
        serve_parameters(server, spec, task) if job == "ps" else work(server, spec, task, steps)
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slurm", metavar="JOB=TASKS,...", help="this is a task of srun: how many of which job, in order")
    parser.add_argument("--port", type=int, default=8888, help="the first port on each host, with --slurm")
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    resolvers = tf.distribute.cluster_resolver
    if given.slurm:
        jobs = {job: int(tasks) for job, tasks in (part.split("=") for part in given.slurm.split(","))}
        resolver = resolvers.SlurmClusterResolver(jobs, port_base=given.port)
    else:
        resolver = resolvers.TFConfigClusterResolver()
    run(resolver, given.steps)


if __name__ == "__main__":
    main()
