# SPDX-License-Identifier: Apache-2.0
"""A release of TensorFlow that makes and runs plans of `nesting_plan`: a record with a plan in, one with graph and values out.
Python 3.7 and later."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import tensorflow.compat.v1 as tf
from nesting_graph import NestingGraph
from wire import pack_array, read_records, write_record

STEPS = [{"x": [0.5, -0.2, 0.9], "p": True, "n": 2}, {"x": [-0.7, 0.4, 0.1], "p": False, "n": 3}, {"x": [0.2, 0.6, -0.3], "p": False, "n": 0}]


def config():
    made = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)
    made.graph_options.rewrite_options.disable_meta_optimizer = True
    return made


def steps(made, asked, kind):
    """(what came out of each step, its blocks)"""
    found, blocks = [], [made.forward, made.definition]
    with tf.Session(graph=made.graph, config=config()) as session:
        session.run("start")
        for feeds in STEPS:
            fed = {"x:0": np.array(feeds["x"]), "p:0": feeds["p"], "n:0": np.int32(feeds["n"])}
            values = session.run([made.total.name] + asked, fed, options=tf.RunOptions(timeout_in_ms=20000))
            states = session.run(made.states)
            found.append({"feeds": feeds, "values": [pack_array(v, kind, blocks) for v in values],
                          "states": [pack_array(v, str(np.asarray(v).dtype), blocks) for v in states]})
    return found, blocks


def run(plan):
    """(header, blocks): what the graph is called by, and of each step the values, the gradients and the states after it."""
    made = NestingGraph(plan)
    try:
        found, blocks = steps(made, [g for g in made.gradients or [] if g is not None], plan["kind"])
    except tf.errors.OpError as error:
        if made.gradients is None:
            raise
        made.refused, made.gradients, made.definition = "%s: %s" % (type(error).__name__, error), None, made.forward
        found, blocks = steps(made, [], plan["kind"])
    return {"total": made.total.name, "by": made.by, "gradients": made.gradients, "refused": made.refused, "states": made.states, "steps": found}, blocks


def main():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.FATAL)
    for request, _ in read_records(sys.stdin.buffer):
        try:
            header, blocks = run(request["plan"])
        except Exception as error:
            header, blocks = {"error": "%s: %s" % (type(error).__name__, str(error)[:2000])}, []
        write_record(answers, header, blocks)


if __name__ == "__main__":
    main()
