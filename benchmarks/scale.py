# SPDX-License-Identifier: Apache-2.0
"""Large clusters and graphs, all tasks in this process: scale.py scale_session_TASKS | scale_register_NODES_TASKS | scale_subgraphs_PS_WORKERS

    scale_session_100           a session over 100 tasks: made, one step on the master's own task, closed
    scale_register_100K_10      the first step of a new session: 100,000 nodes over 10 tasks are sent, placed, cut and registered,
                                less a step like those after it
    scale_subgraphs_100_100     a step with a part of one node on each of 100 ps and 100 workers, driven by one master;
                                `per_second` counts the parts
"""
import functools
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "peers"), os.path.join(os.path.dirname(HERE), "examples", "cluster")]
import common
import tasks
import thalweg as tf

a = common.options()
kind, *sizes = a.workload.removeprefix("scale_").split("_")
sizes = [int(s.rstrip("K")) * (1000 if s.endswith("K") else 1) for s in sizes]


def seconds(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def make_session(target):
    began = time.perf_counter()
    with tf.Graph().as_default():
        one = tf.constant(1.0) + tf.random_uniform([])
        with tf.Session(target) as session:
            session.run(one)
    return time.perf_counter() - began


def register(target, graph, ends):
    """Of chains on each task, one after the other's last node."""
    with tf.Session(target, graph=graph) as session:
        first = seconds(lambda: session.run(ends))
        return first - min(seconds(lambda: session.run(ends)) for _ in range(3))


def chains(nodes, tasks_):
    with tf.Graph().as_default() as graph:
        ends, x = [], tf.random_uniform([])
        for task in range(tasks_):
            with tf.device(f"/job:task/task:{task}"):
                for _ in range(nodes // tasks_):
                    x = tf.raw_ops.Neg(x=x)
            ends.append(x.op)
    return graph, ends


def drive_subgraphs(sizes_, servers_):
    with tf.Graph().as_default() as graph:
        ends = []
        for job, task in servers_:
            with tf.device(f"/job:{job}/task:{task}"):
                ends.append(tf.no_op())
    with tf.Session(servers_["worker", 0].target, graph=graph) as session:
        times = common.measure(lambda: session.run(ends), a.seconds, warm=3)
    common.emit(a, "thalweg", tf.__version__, times, nodes=sum(sizes_.values()))


if __name__ == "__main__":
    jobs = {"ps": sizes[0], "worker": sizes[1]} if kind == "subgraphs" else {"task": sizes[-1]}
    cluster, servers = tasks.servers(jobs)
    if kind == "subgraphs":
        drive_subgraphs(jobs, servers)
        for s in servers.values():
            s.stop()
        sys.exit()
    target = servers["task", 0].target
    if kind == "session":
        step = functools.partial(make_session, target)
    else:
        step = functools.partial(register, target, *chains(*sizes))
    first = step()  # makes the connections
    common.emit(a, "thalweg", tf.__version__, [step() for _ in range(4)], first_s=first)
    for s in servers.values():
        s.stop()
