# SPDX-License-Identifier: Apache-2.0
"""What backup workers gain (papers C6, 1604.00981): steps of synchronous replicas some of which are late, with 0 to BACKUPS more
replicas than a step needs.

    python backup_workers.py [REPLICAS [BACKUPS [STEPS [SECONDS]]]]

The replicas are threads with a session each at one server. Nothing is computed: a replica's step lasts as long as a number that is
drawn for it, from the published times after which of 100 workers the 1st, 50th, 95th and 100th have sent their gradient (1.42, 1.6,
1.73 and some 2.6 s; of the last 30 % come within 2 s), a second of which lasts SECONDS here. The same seeds for every row.
Normalized: (time without backups / time with b) x (n / (n + b)), as if machines were paid for by time.
"""
import sys
import threading
import time

import numpy as np
import thalweg as tf

WARM_UP = 3


def delays(replica):
    """Seconds of a replica's steps: the published quantiles; beyond 2 s, which 1.2 % are, an exponential tail of 0.68 s."""
    random = np.random.RandomState(1000 + replica)
    while True:
        q = random.uniform()
        yield np.interp(q, [0, 0.5, 0.95, 0.988], [1.42, 1.6, 1.73, 2.0]) + (random.exponential(0.68) if q > 0.988 else 0.0)


def replica(number, needed, total, scale):
    """(graph, its optimizer, its train_op)"""
    drawn = delays(number)

    def late(step):
        time.sleep(scale * next(drawn))
        return np.float32(0)
    with tf.Graph().as_default() as graph:
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [8], initializer=tf.zeros_initializer())
        sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), needed, total)
        gradient = tf.ones([8]) + tf.py_func(late, [step], tf.float32)
        gradient.set_shape([8])
        train = sync.apply_gradients([(gradient, w)], step)
        init, local = tf.global_variables_initializer(), tf.local_variables_initializer()
    return graph, sync, train, init, local


def train_until_closed(session, train):
    try:
        while True:
            session.run(train)
    except (tf.errors.OpError, RuntimeError):
        pass  # the end


def seconds_of_steps(needed, backups, steps, scale):
    server = tf.train.Server.create_local_server()
    made = [replica(i, needed, needed + backups, scale) for i in range(needed + backups)]
    sessions = [tf.Session(server.target, graph=graph) for graph, *_ in made]
    for i, (session, (_, sync, _, init, local)) in enumerate(zip(sessions, made)):
        session.run([init, local] if i == 0 else local)
        session.run(sync.chief_init_op if i == 0 else sync.local_step_init_op)
    update = made[0][1].get_chief_queue_runner().enqueue_ops[0]
    threads = [threading.Thread(target=train_until_closed, args=(s, train)) for s, (_, _, train, *_) in zip(sessions, made)]
    for t in threads:
        t.start()
    ends = []
    for _ in range(WARM_UP + steps):
        sessions[0].run(update)
        ends.append(time.monotonic())
    server.stop()
    for t in threads:
        t.join()
    for s in sessions:
        s.close()
    return np.diff(ends)[WARM_UP - 1:]


def main(needed=10, backups=2, steps=6, scale=0.05):
    print(f"{needed} gradients a step, 1 s of the published times is {scale:g} s, {steps} steps a row")
    print("backups   mean s   median   p90      gain   normalized")
    best = without = 0.0
    for b in range(backups + 1):
        took = seconds_of_steps(needed, b, steps, scale) / scale
        mean = took.mean()
        without = without or mean
        normalized = 100 * (without / mean * needed / (needed + b) - 1)
        best = max(best, normalized)
        print(f"{b:7} {mean:8.3f} {np.median(took):8.3f} {np.quantile(took, 0.9):6.3f} {100 * (without / mean - 1):8.1f} % "
              f"{normalized:8.1f} %", flush=True)
    print(f"normalized gain: {best:.1f} %")


if __name__ == "__main__":
    main(*[int(a) for a in sys.argv[1:4]], *[float(a) for a in sys.argv[4:5]])
