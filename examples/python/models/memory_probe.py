# SPDX-License-Identifier: Apache-2.0
"""memory_probe.py MODEL [ARGUMENT ...]: trains a model of this folder for a few steps and prints, as one line of JSON, what they
did to memory: page faults and growth of the steps after the first, the peak that the plan knew beforehand and the real one.
"""
import json
import os
import resource
import runpy
import sys

import thalweg as tf
from thalweg.graph import graph as graph_module

import training

WARM, STEPS = 6, 20


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def probe(options, loss, train, feeds, unit="examples", items=None):
    memory = graph_module.environment().memory
    with training.session(options.threads) as sess:
        sess.run(tf.global_variables_initializer())
        run = sess.make_callable([loss, train.outputs[0] if train.outputs else train], list(feeds(0)))
        batch = list(feeds(0).values())  # made once: making it touches memory too
        for _ in range(WARM):
            run(*batch)
        in_use, peak, _ = memory()
        before = faults()
        for _ in range(STEPS):
            run(*batch)
        after = faults()
        grown = memory()[1] - peak
        metadata = tf.RunMetadata()
        sess.run([loss, train], feeds(0), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True), metadata)
        planned = metadata.cost_graph.node[0].temporary_memory_size if metadata.cost_graph.node else 0
    print(json.dumps({"faults": after - before, "grown": grown, "planned": planned, "taken": peak - in_use}))


training.run = probe
sys.argv = sys.argv[1:]
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), sys.argv[0]), run_name="__main__")
