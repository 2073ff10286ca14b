# SPDX-License-Identifier: Apache-2.0
"""Wide and deep: a linear model of crossed categories beside a net of embeddings, as an Estimator's model function.

    wide_deep.py [--train_steps=800]

Who clicks depends on a pair of categories (for the wide part) and smoothly on numbers (for the deep one). Ends with the share of test
rows that it says rightly, beside the best that anybody can reach.
"""
import shutil
import tempfile

import numpy as np
import tensorflow as tf

tf.flags.DEFINE_integer("train_steps", 800, "training steps")
tf.flags.DEFINE_integer("batch_size", 128, "rows of a batch")
FLAGS = tf.flags.FLAGS

USERS, ITEMS = 30, 20


def make_rows(random, tastes, count):
    """(features, clicks, probabilities)."""
    users, items = random.randint(USERS, size=count), random.randint(ITEMS, size=count)
    age = random.rand(count).astype(np.float32)
    score = 2.5 * tastes[users, items] + 3 * np.sin(3 * age) - 2
    chance = 1 / (1 + np.exp(-2 * score))
    clicks = (random.rand(count) < chance).astype(np.int32)
    names = np.array([("user%d" % u).encode() for u in users], dtype=object)
    return {"user": names, "item": items.astype(np.int64), "age": age}, clicks, chance


def model_fn(features, labels, mode, params):
    user = tf.string_to_hash_bucket_fast(features["user"], params["user_buckets"])
    item, age = features["item"], tf.expand_dims(features["age"], 1)
    with tf.variable_scope("wide"):
        cross = tf.string_join([features["user"], tf.as_string(item)], separator="_X_")
        cross = tf.string_to_hash_bucket_fast(cross, params["cross_buckets"])
        weights = tf.get_variable("cross_weights", [params["cross_buckets"], 1], initializer=tf.zeros_initializer())
        wide = tf.nn.embedding_lookup(weights, cross)
    with tf.variable_scope("deep"):
        user_table = tf.get_variable("user_embedding", [params["user_buckets"], 8])
        item_table = tf.get_variable("item_embedding", [ITEMS, 8])
        net = tf.concat([tf.nn.embedding_lookup(user_table, user), tf.nn.embedding_lookup(item_table, item), age], 1)
        for units in params["hidden_units"]:
            net = tf.layers.dense(net, units, activation=tf.nn.relu)
        deep = tf.layers.dense(net, 1)
    logits = tf.squeeze(wide + deep, 1)
    chance = tf.sigmoid(logits)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"chance": chance})
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        said = tf.cast(chance > 0.5, tf.int32)
        metrics = {"accuracy": tf.metrics.accuracy(labels, said), "auc": tf.metrics.auc(labels, chance)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    wide_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="wide")
    deep_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="deep")
    step = tf.train.get_global_step()
    train_op = tf.group(
        tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.001).minimize(loss, var_list=wide_vars),
        tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=deep_vars), tf.assign_add(step, 1))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main(_):
    random = np.random.RandomState(3)
    tastes = random.choice([-1.0, 1.0], size=(USERS, ITEMS))
    rows, clicks, _ = make_rows(random, tastes, 20000)
    test_rows, test_clicks, test_chance = make_rows(random, tastes, 4000)
    folder = tempfile.mkdtemp()
    config = tf.estimator.RunConfig(model_dir=folder, tf_random_seed=1, save_checkpoints_steps=400, keep_checkpoint_max=2)
    estimator = tf.estimator.Estimator(model_fn, config=config, params={
        "user_buckets": 100, "cross_buckets": 2000, "hidden_units": [32, 16]})
    train_input = tf.estimator.inputs.numpy_input_fn(rows, clicks, batch_size=FLAGS.batch_size, num_epochs=None, shuffle=True)
    test_input = tf.estimator.inputs.numpy_input_fn(test_rows, test_clicks, batch_size=500, num_epochs=1, shuffle=False)
    estimator.train(train_input, steps=FLAGS.train_steps)
    found = estimator.evaluate(test_input)
    some = next(estimator.predict(test_input))
    print("step %d, loss %.3f, auc %.3f, first row %.2f" % (found["global_step"], found["loss"], found["auc"], some["chance"]))
    shutil.rmtree(folder)
    best = np.mean((test_chance > 0.5) == test_clicks)
    print("test accuracy: %.3f, best possible: %.3f" % (found["accuracy"], best))


if __name__ == "__main__":
    tf.app.run()
