# SPDX-License-Identifier: Apache-2.0
"""A training run as people watch it: a session with hooks writes losses, weights as histograms and as pictures, the graph, and what a
traced step tells. training.py FOLDER"""
import sys

import numpy as np
import thalweg as tw


def digits(rng, count):
    """Pictures of 8 by 8 with a bar whose place is the class."""
    classes = rng.integers(0, 4, count)
    pictures = rng.normal(0, 0.3, [count, 8, 8, 1]).astype(np.float32)
    for picture, each in zip(pictures, classes):
        if each < 2:
            picture[:, 2 + 4 * each] += 1
        else:
            picture[2 + 4 * (each - 2)] += 1
    return pictures, classes


def train(folder, steps=150):
    """Trains, and writes each tenth step."""
    rng = np.random.default_rng(0)
    with tw.Graph().as_default():
        tw.set_random_seed(1)
        pictures = tw.placeholder(tw.float32, [None, 8, 8, 1], name="pictures")
        classes = tw.placeholder(tw.int64, [None], name="classes")
        with tw.variable_scope("convolution"):
            kernel = tw.get_variable("kernel", [3, 3, 1, 4])
            seen = tw.nn.relu(tw.nn.conv2d(pictures, kernel, 1, "SAME"))
        with tw.name_scope("classifier"):
            logits = tw.layers.dense(tw.layers.flatten(seen), 4, name="dense")
        with tw.name_scope("training"):
            loss = tw.losses.sparse_softmax_cross_entropy(classes, logits)
            accuracy = tw.reduce_mean(tw.cast(tw.equal(tw.argmax(logits, 1), classes), tw.float32))
            step = tw.train.get_or_create_global_step()
            train_op = tw.train.AdamOptimizer(0.02).minimize(loss, global_step=step)
        tw.summary.scalar("loss", loss)
        tw.summary.scalar("accuracy", accuracy)
        tw.summary.histogram("kernel", kernel)
        tw.summary.image("filters", tw.transpose(kernel, [3, 0, 1, 2]), max_outputs=1)
        hooks = [tw.train.StopAtStepHook(last_step=steps)]
        with tw.train.MonitoredTrainingSession(checkpoint_dir=folder, save_summaries_steps=10, hooks=hooks) as sess:
            while not sess.should_stop():
                given = dict(zip((pictures, classes), digits(rng, 32)))
                told = tw.RunMetadata()
                at, _ = sess.run([step, train_op], given, options=tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE), run_metadata=told)
                if at % 50 == 0:
                    tw.summary.FileWriterCache.get(folder).add_run_metadata(told, f"step {at}", at)


if __name__ == "__main__":
    train(sys.argv[1])
