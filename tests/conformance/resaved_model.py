# SPDX-License-Identifier: Apache-2.0
"""A SavedModel in TensorFlow 1's form, loaded and saved again by TensorFlow 2: resaved_model.py DIRECTORY. Its table, and what
fills it and counts that, are then inside functions."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf


def write_first(path):
    """In TensorFlow 1's form: a table filled from constants, another from a file, a counter of the fillings."""
    v1 = tf.compat.v1
    vocabulary = path + "_words.txt"
    with open(vocabulary, "w", encoding="utf-8") as f:
        f.write("red\ngreen\nblue\n")
    with v1.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None], name="words")
        colors = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["red", "blue"], tf.constant([10, 30], tf.int64)), -1)
        asset = tf.constant(vocabulary)
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
        places = v1.lookup.StaticHashTable(v1.lookup.TextFileInitializer(asset, tf.string, v1.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                                                        v1.lookup.TextFileIndex.LINE_NUMBER), -2)
        filled = v1.get_variable("filled", initializer=tf.constant(0, tf.int64), use_resource=True)
        out = colors.lookup(words) + 100 * places.lookup(words) + 10000 * colors.size() + 0 * filled.read_value()
        count = filled.read_value() + 0 * tf.size(words, out_type=tf.int64)
        with tf.control_dependencies([filled.assign_add(1)]):
            init = tf.group(v1.tables_initializer())
        session.run(filled.initializer)
        builder = v1.saved_model.Builder(path)
        signature = v1.saved_model.predict_signature_def({"words": words}, {"out": out, "count": count})
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, main_op=init,
                                             assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS))
        builder.save()


def main(path):
    write_first(path + "_first")
    model = tf.saved_model.load(path + "_first", tags=["serve"])
    tf.saved_model.save(model, path, signatures=model.signatures)


if __name__ == "__main__":
    main(*sys.argv[1:])
