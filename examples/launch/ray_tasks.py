# SPDX-License-Identifier: Apache-2.0
"""Tasks as Ray actors: Ray starts them, and starts one again that has died.

    python ray_tasks.py
"""
import os

import ray
from thalweg.cluster.local_cluster import free_ports

HOST = "127.0.0.1"


@ray.remote(max_restarts=3, max_task_retries=3, num_cpus=0)
class Task:
    """One server of the cluster; a restarted one listens at the same address."""

    def __init__(self, jobs, job, task):
        import thalweg as tf
        self._server = tf.train.Server(jobs, job, task)

    def target(self):
        return self._server.target

    def process(self):
        return os.getpid()


def start(workers=2):
    """(addresses by job, actors by (job, task)): ready when this returns."""
    ports = free_ports(1 + workers)
    jobs = {"ps": [f"{HOST}:{ports[0]}"], "worker": [f"{HOST}:{port}" for port in ports[1:]]}
    tasks = {(job, number): Task.remote(jobs, job, number) for job, addresses in jobs.items() for number in range(len(addresses))}
    ray.get([task.target.remote() for task in tasks.values()])
    return jobs, tasks


def main():
    import thalweg as tf
    ray.init(include_dashboard=False, num_cpus=4)
    _, tasks = start()
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
        parts = []
        for number in range(2):
            with tf.device(f"/job:worker/task:{number}"):
                parts.append(tf.reduce_sum(tf.cast(tf.range(10), tf.float32)) * (number + 1.0))
        add = tf.assign_add(total, tf.add_n(parts))
        with tf.Session(ray.get(tasks["worker", 0].target.remote())) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(10):
                session.run(add)
            print("total", session.run(total))
    ray.shutdown()


if __name__ == "__main__":
    main()
