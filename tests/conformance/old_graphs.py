# SPDX-License-Identifier: Apache-2.0
"""Random graphs as TensorFlow 1.15 makes and runs them, with derivatives: old_graphs.py ANSWERS COUNT (Python 3.7)"""
import gzip
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tensorflow.compat.v1 as tf
from random_graph import RandomGraph
from wire import pack_array, write_record


def record(seed):
    made = RandomGraph(seed=1000 + seed, size=5 + seed * 7 % 56)
    with made.graph.as_default(), tf.Session() as session:
        total = tf.add_n([tf.reduce_sum(tf.tanh(t)) for t in made.pool[len(made.sources):]], name="total")
        definition = made.graph.as_graph_def().SerializeToString()
        found = tf.gradients(total, made.sources)
        by = [s.name for s, g in zip(made.sources, found) if g is not None]
        values = session.run([made.fetches, [tf.convert_to_tensor(g) for g in found if g is not None]], made.feeds)
    blocks = [definition]
    header = {"id": str(seed), "fetches": made.fetches, "by": by,
              "feeds": {n: pack_array(v, v.dtype.name, blocks) for n, v in made.feeds.items()},
              "outputs": [pack_array(v, v.dtype.name, blocks) for v in values[0]], "gradients": [pack_array(v, v.dtype.name, blocks) for v in values[1]]}
    return header, blocks


def main(path, count):
    tf.disable_v2_behavior()
    with gzip.GzipFile(path, "wb", mtime=0) as f:
        for seed in range(int(count)):
            try:
                made = record(seed)
            except ValueError:  # 1.15 has no derivative of Atan2 and some others where inputs are broadcast
                continue
            write_record(f, *made)


if __name__ == "__main__":
    main(*sys.argv[1:])
