# SPDX-License-Identifier: Apache-2.0
"""Writes event files of every kind, or reads them: event_files.py thalweg|tensorflow write|read FOLDER.

One program for both releases of TensorFlow and for Thalweg. `read` prints what all files of the folder hold as JSON, pictures as their
pixels: how they are compressed is the writer's own affair."""
import glob
import importlib
import json
import os
import sys

import numpy as np

WEIGHTS = np.array([-1.5, 0.0, 0.25, 2.0, 2.0, 1e-30, 1e20], np.float32)
PIXELS = (np.arange(2 * 4 * 5 * 3) * 2).astype(np.uint8).reshape(2, 4, 5, 3)
SOUND = np.sin(np.arange(40, dtype=np.float32)).reshape(1, 20, 2)


def _old(tf, folder):
    """tf.summary of the first release, and FileWriter's other kinds of events."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        scope = tf.summary
        made = [scope.scalar("a scalar", tf.constant(0.1)), scope.scalar("of family", tf.constant(7), family="some"),
                scope.histogram("weights", tf.constant(WEIGHTS)), scope.image("bytes", tf.constant(PIXELS)),
                scope.image("floats", tf.constant(np.linspace(-1, 3, 24, dtype=np.float32).reshape(1, 4, 6, 1))),
                scope.audio("sound", tf.constant(SOUND), 16000), scope.text("text", tf.constant(["a", "\u00e9"])),
                scope.tensor_summary("tensor", tf.constant([[1, 2], [3, 4]], tf.int64), display_name="shown", summary_description="why")]
        writer = tf.summary.FileWriter(folder, graph, filename_suffix=".old")
        for step in (0, 5):
            writer.add_summary(sess.run(tf.summary.merge(made)), step)
        told = tf.RunMetadata(step_stats=None)  # as if it were not given
        told.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name="x", all_end_rel_micros=3)
        writer.add_run_metadata(told, "run", 5)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.CHECKPOINT, checkpoint_path="p"), 6)
        writer.close()


def _new(tf, new, folder):
    """Writers as resources; scalar and the like where TensorBoard, to which they belong in TensorFlow, is there."""
    with tf.Graph().as_default(), tf.Session() as sess:
        writer = new.create_file_writer(folder, max_queue=2, filename_suffix=".new")
        metadata = tf.SummaryMetadata(display_name="d")
        metadata.plugin_data.plugin_name = "mine"
        metadata.plugin_data.content = b"\0x"
        raw = tf.Summary(value=[tf.Summary.Value(tag="raw", simple_value=2.5)])
        with writer.as_default():
            with tf.name_scope("scope"):
                made = [new.write("tensor", tf.constant([[1.5], [2.5]]), step=3, metadata=metadata),
                        new.experimental.write_raw_pb(raw.SerializeToString(), step=4)]
                if "functions" in sys.argv:
                    made += [new.scalar("a scalar", 0.1, step=5, description="*d*"), new.histogram("weights", WEIGHTS[:5], step=5, buckets=4),
                             new.image("bytes", PIXELS, step=5), new.audio("sound", SOUND, 16000, step=5),
                             new.text("text", "words", step=5)]
        sess.run(writer.init())
        for each in made:  # one after the other: in one run their order is anybody's
            assert sess.run(each)
        sess.run(writer.close())


def _array(tf, proto):
    made = tf.make_ndarray(proto)
    if made.dtype == object:
        return [x.decode("latin-1") for x in made.ravel()]
    return [made.dtype.name, list(made.shape), made.ravel().tolist()]


def _value(tf, sess, value):
    what = value.WhichOneof("value")
    found = {"tag": value.tag, "what": what}
    if value.HasField("metadata"):
        found["about"] = [value.metadata.plugin_data.plugin_name, value.metadata.plugin_data.content.decode("latin-1"),
                          value.metadata.display_name, value.metadata.summary_description]
    if what == "simple_value":
        found["value"] = value.simple_value
    elif what == "histo":
        h = value.histo
        found["value"] = [h.min, h.max, h.num, h.sum, h.sum_squares, list(h.bucket_limit), list(h.bucket)]
    elif what == "image":
        pixels = sess.run(tf.image.decode_png(tf.constant(value.image.encoded_image_string)))
        found["value"] = [value.image.height, value.image.width, value.image.colorspace, pixels.ravel().tolist()]
    elif what == "audio":
        a = value.audio
        found["value"] = [a.sample_rate, a.num_channels, a.length_frames, a.content_type, a.encoded_audio_string.decode("latin-1")]
    elif what == "tensor":
        found["value"] = _array(tf, value.tensor)
        if found.get("about", [""])[0] == "images":
            files = tf.make_ndarray(value.tensor).ravel()[2:]
            found["value"] = found["value"][:2] + [sess.run(tf.image.decode_png(tf.constant(f))).ravel().tolist() for f in files]
    return found


def read(tf, folder):
    """All events of a folder but their times, and what depends on who wrote them: versions, graphs beyond their nodes."""
    rows = []
    with tf.Graph().as_default(), tf.Session() as sess:
        for path in sorted(glob.glob(os.path.join(folder, "*")), key=lambda p: p.rpartition(".")[2]):
            for event in tf.train.summary_iterator(path):
                what = event.WhichOneof("what")
                row = {"what": what, "step": event.step, "time": event.wall_time > 1e9}
                if what == "summary":
                    row["values"] = [_value(tf, sess, v) for v in event.summary.value]
                elif what == "file_version":
                    row["value"] = event.file_version
                elif what == "graph_def":
                    row["value"] = sorted([n.name, n.op] for n in tf.GraphDef.FromString(event.graph_def).node if n.op != "Const")
                elif what == "session_log":
                    row["value"] = [event.session_log.status, event.session_log.checkpoint_path]
                elif what == "tagged_run_metadata":
                    told = tf.RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
                    row["value"] = [event.tagged_run_metadata.tag, told.step_stats.dev_stats[0].node_stats[0].node_name]
                rows.append(row)
    return rows


if __name__ == "__main__":
    module, verb, where = sys.argv[1:4]
    package = importlib.import_module(module)
    chosen = package.compat.v1
    if verb == "write":
        _old(chosen, where)
        _new(chosen, package.compat.v2.summary, where)
    else:
        print(json.dumps(read(chosen, where)))
