# SPDX-License-Identifier: Apache-2.0
"""A log directory with every kind of summary: run "v1" by tw.summary and FileWriter, "v2" by tw.compat.v2.summary, "contrib" by
tw.contrib.summary. What is in it is known: the tests ask TensorBoard for the same values."""
import os

import numpy as np
import thalweg as tw

STEPS = (0, 1, 2)
LOSS = (3.0, 1.5, 0.75)
WEIGHTS = np.array([1.0, 2.0, 2.0, 6.0], np.float32)
# Two images of 2 rows and 3 columns, whose bytes say where they are; as floats each 0 to 1.
IMAGES = np.arange(36, dtype=np.uint8).reshape([2, 2, 3, 3]) * 7
SOUNDS = np.array([[[0.0], [0.5], [-0.5], [0.25]], [[1.0], [-1.0], [0.0], [0.0]]], np.float32)
RATE = 8000
TEXT = "**bold** words"
TABLE = [["a", "b"], ["c", "d"]]


def _v1(folder):
    """Summaries that are fetched and given to a FileWriter, with the graph and what a traced run tells."""
    with tw.Graph().as_default() as graph, tw.Session() as sess:
        step = tw.placeholder(tw.int32, [], name="step")
        with tw.name_scope("model"):
            loss = tw.gather(tw.constant(LOSS), step, name="loss_at")
            tw.summary.scalar("loss", loss)
        tw.summary.histogram("weights", tw.constant(WEIGHTS) + tw.cast(step, tw.float32))
        tw.summary.image("picture", tw.constant(IMAGES), max_outputs=2)
        tw.summary.audio("sound", tw.constant(SOUNDS), RATE, max_outputs=2)
        tw.summary.text("words", tw.constant(TEXT))
        tw.summary.tensor_summary("whole", tw.constant([1.0, 2.0]))
        merged = tw.summary.merge_all()
        with tw.summary.FileWriter(folder, graph) as writer:
            for number in STEPS:
                told = tw.RunMetadata()
                options = tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE)
                writer.add_summary(sess.run(merged, {step: number}, options=options, run_metadata=told), number)
                writer.add_run_metadata(told, f"step {number}", number)


def _v2(folder):
    """Summaries that a step writes itself."""
    summary = tw.compat.v2.summary
    with tw.Graph().as_default(), tw.Session() as sess:
        writer = summary.create_file_writer(folder, flush_millis=1000000)
        step = tw.placeholder(tw.int64, [], name="step")
        with writer.as_default(), tw.name_scope("model"):
            summary.experimental.set_step(step)
            summary.scalar("loss", tw.gather(tw.constant(LOSS), step), description="how far *off*")
            summary.histogram("weights", tw.constant(WEIGHTS), buckets=5)
            summary.image("picture", tw.constant(IMAGES), max_outputs=1)
            summary.image("floats", tw.constant(IMAGES / np.float32(255)))
            summary.audio("sound", tw.constant(SOUNDS), RATE)
            summary.text("words", TEXT)
            summary.text("table", tw.constant(TABLE))
            summary.experimental.set_step(None)
        sess.run(writer.init())
        for number in STEPS:
            assert all(sess.run(tw.summary.all_v2_summary_ops(), {step: number}))
        sess.run(writer.close())


def _contrib(folder):
    """Summaries that a step writes itself, every second step only, and the graph."""
    summary = tw.contrib.summary
    with tw.Graph().as_default() as graph, tw.Session() as sess:
        step = tw.train.create_global_step()
        writer = summary.create_file_writer(folder)
        with writer.as_default(), summary.record_summaries_every_n_global_steps(2):
            summary.scalar("loss", tw.gather(tw.constant(LOSS), step))
            summary.histogram("weights", tw.constant(WEIGHTS))
            summary.image("picture", tw.constant(IMAGES))
            summary.audio("sound", tw.constant(SOUNDS), RATE, max_outputs=3)
            sess.run(tw.global_variables_initializer())
            tw.summary.initialize(graph, sess)
        advance = tw.assign_add(step, 1)
        for number in STEPS:
            assert all(sess.run(summary.all_summary_ops())) is (number % 2 == 0)
            sess.run(advance)
        sess.run(writer.close())


def write(folder):
    """Writes all runs below a folder."""
    _v1(os.path.join(folder, "v1"))
    _v2(os.path.join(folder, "v2"))
    _contrib(os.path.join(folder, "contrib"))
