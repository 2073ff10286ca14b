# SPDX-License-Identifier: Apache-2.0
"""A program that knows TensorFlow and TensorBoard alone: the package's own summaries of hyperparameters, meshes, precision and recall,
layouts, and its newer forms of all others. It runs as `python -m thalweg.as_tensorflow plugin_programs.py FOLDER`."""
import os
import sys

import tensorflow as tf
from plugin_values import COLORS, DOTS, FACES, LABELS, PREDICTIONS, TRIALS, VERTICES
from tensorboard.plugins.audio import summary as audio
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom_scalar
from tensorboard.plugins.hparams import api as hp
from tensorboard.plugins.histogram import summary as histogram
from tensorboard.plugins.image import summary as image
from tensorboard.plugins.mesh import summary as mesh
from tensorboard.plugins.pr_curve import summary as pr_curve
from tensorboard.plugins.scalar import summary as scalar
from tensorboard.plugins.text import summary as text

DROPOUT = hp.HParam("dropout", hp.RealInterval(0.0, 0.5))
OPTIMIZER = hp.HParam("optimizer", hp.Discrete(["adam", "sgd"]))


def operations(folder):
    """Operations of graphs, as programs of TensorFlow 1 use them."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        made = [pr_curve.op("curve", tf.constant(LABELS), tf.constant(PREDICTIONS), num_thresholds=5),
                mesh.op("shape", vertices=VERTICES, colors=COLORS, faces=FACES, config_dict={"camera": {"fov": 60}}),
                scalar.op("number", tf.constant(2.5), description="a *number*"),
                histogram.op("values", tf.constant([1.0, 2.0, 6.0]), bucket_count=4),
                image.op("dots", tf.constant(DOTS)),
                audio.op("beep", tf.constant([[[0.0], [0.5]]]), 8000), text.op("said", tf.constant("hello"))]
        layout = custom_scalar.op(layout_pb2.Layout(category=[layout_pb2.Category(title="all", chart=[layout_pb2.Chart(
            title="numbers", multiline=layout_pb2.MultilineChartContent(tag=["number"]))])]))
        curve, update = pr_curve.streaming_op("streamed", tf.constant(LABELS), tf.constant(PREDICTIONS), num_thresholds=5)
        merged = tf.compat.v1.summary.merge([*made, layout])
        with tf.compat.v1.summary.FileWriter(folder) as writer:
            sess.run(tf.compat.v1.local_variables_initializer())
            writer.add_summary(sess.run(merged), 0)
            sess.run(update)
            writer.add_summary(sess.run(curve), 0)
            writer.add_summary(pr_curve.pb("message", LABELS, PREDICTIONS, num_thresholds=5), 0)  # TensorBoard's own message


def hyperparameters(folder):
    """An experiment and its runs."""
    with tf.compat.v1.summary.FileWriter(folder) as writer:
        writer.add_summary(hp.hparams_config_pb(hparams=[DROPOUT, OPTIMIZER], metrics=[hp.Metric("accuracy", display_name="Accuracy")]))
    for number, (dropout, optimizer, accuracy) in enumerate(TRIALS):
        with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
            summary = tf.compat.v2.summary
            writer = summary.create_file_writer(os.path.join(folder, f"run{number}"))
            with writer.as_default():
                hp.hparams({DROPOUT: dropout, OPTIMIZER: optimizer}, trial_id=f"trial {number}")
                summary.scalar("accuracy", accuracy, step=1)
            sess.run(writer.init())
            sess.run(tf.compat.v1.summary.all_v2_summary_ops())
            sess.run(writer.close())


def newer(folder):
    """What tf.summary.scalar and the like are in TensorFlow 2: TensorBoard's functions, over the writers of this module."""
    from tensorboard.plugins.mesh import summary_v2 as mesh_v2
    from tensorboard.summary.v2 import audio, histogram, image, scalar, text
    with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        writer = tf.compat.v2.summary.create_file_writer(folder)
        with writer.as_default():
            scalar("loss", 0.5, step=1)
            histogram("weights", tf.constant([1.0, 2.0, 2.0, 6.0]), step=1, buckets=5)
            image("picture", tf.constant(DOTS), step=1)
            audio("sound", tf.constant([[[0.0], [0.5]]]), 8000, step=1)
            text("words", "hello", step=1)
            mesh_v2.mesh("shape", vertices=VERTICES, step=1)
        sess.run(writer.init())
        sess.run(tf.compat.v1.summary.all_v2_summary_ops())
        sess.run(writer.close())


operations(os.path.join(sys.argv[1], "operations"))
hyperparameters(os.path.join(sys.argv[1], "hyperparameters"))
newer(os.path.join(sys.argv[1], "newer"))
