# SPDX-License-Identifier: Apache-2.0
"""Training of an embedding costs in proportion to the rows it touches, not to the table. What is counted is memory: every page
that is written or read for the first time is a fault and grows the process, and so does every copy of the table.
"""
import json
import os
import subprocess
import sys

import pytest

GIB = 2**30
ROWS = 10_000
# What the touched rows take when each lies in a page of its own.
PAGE_KIB = ROWS * 4

PROGRAM = """
import json, resource, sys
import numpy as np
import thalweg as tf

bytes_, form, optimizer = int(sys.argv[1]), sys.argv[2], sys.argv[3]
rows, width, touched = bytes_ // 256, 64, 10_000


def used():
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    return int(peak.split()[1]), resource.getrusage(resource.RUSAGE_SELF).ru_minflt


table = tf.get_variable("table", [rows, width], initializer=tf.zeros_initializer(), use_resource=form == "resource")
ids = tf.placeholder(tf.int64, [touched])
loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids) - 1.0))
if optimizer == "adagrad":
    accumulator = tf.get_variable("accumulator", [rows, width], initializer=tf.zeros_initializer(), use_resource=True)
    gradient = tf.gradients(loss, [table])[0]
    train = tf.raw_ops.ResourceSparseApplyAdagrad(var=table.handle, accum=accumulator.handle, lr=0.1, grad=gradient.values,
                                                  indices=gradient.indices)
else:
    train = {"sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
             "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9)}[optimizer]().minimize(loss)
chosen = np.random.RandomState(0).randint(rows // touched, size=touched) + np.arange(touched) * (rows // touched)
with tf.Session() as session:
    peak = [used()]
    session.run(tf.global_variables_initializer())
    peak.append(used())
    losses = []
    for _ in range(4):
        losses.append(float(session.run([loss, train], {ids: chosen})[0]))
        peak.append(used())
print(json.dumps({"peak": peak, "losses": losses}))
"""


def train(gib, form, optimizer):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(gib * GIB), form, optimizer], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def largest(tables):
    """GiB of the larger table: 16, or what a smaller machine lets `tables` of them promise."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(size for size in (2, 4, 8, 16) if size == 2 or size * tables * GIB < 0.85 * memory)


@pytest.mark.parametrize("form, optimizer, tables", [("reference", "sgd", 1), ("resource", "sgd", 1), ("reference", "momentum", 2),
                                                     ("resource", "adagrad", 2)])
def test_a_larger_table_costs_no_more(form, optimizer, tables):
    small, large = (train(gib, form, optimizer) for gib in (1, largest(tables)))
    assert small["losses"] == large["losses"]
    assert small["losses"][-1] < small["losses"][0]
    for run in (small, large):
        made, first, *later = [(after[0] - before[0], after[1] - before[1]) for before, after in zip(run["peak"], run["peak"][1:])]
        assert made[0] < 8 << 10, "creating the variables touched their pages"
        assert first[0] < tables * PAGE_KIB + (64 << 10)
        assert max(later)[0] < 8 << 10, "a step of rows seen before took memory"
        assert max(faults for _, faults in later) < 2000
        run["first"] = first
    for quantity in (0, 1):
        assert large["first"][quantity] <= 1.1 * small["first"][quantity] + 2000
