# SPDX-License-Identifier: Apache-2.0
"""A program of tf.keras that writes files of models into a folder, or reads those that are there:

    keras_files.py write|read FOLDER [own]
    keras_files.py write_various|read_various FOLDER [NAME...]
    keras_files.py write_weights|read_weights FOLDER

`own` reads what model.save wrote too, which only we do of both releases' files. Reading prints JSON.
"""
import json
import os
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # where python -I does not look
from keras_files_feed import FEED

L = tf.keras.layers
WANTED = np.random.RandomState(2).rand(16, 2).astype("f")


def made():
    """A model with a layer of a cell, one with weights that are not trained, and a model within it."""
    a, b = tf.keras.Input((6, 2), name="a"), tf.keras.Input((3,), name="b")
    inner = tf.keras.Sequential([L.Dense(4, activation="relu", input_shape=(3,)), L.BatchNormalization()], name="inner")
    return tf.keras.Model([a, b], L.Dense(2, name="out")(L.concatenate([L.LSTM(3)(a), inner(b)])))


def compiled(optimizer):
    model = made()
    model.compile(tf.keras.optimizers.deserialize({"class_name": optimizer, "config": {"learning_rate": 0.01}}), "mse", metrics=["mae"])
    return model


def rows():
    return [FEED["a"], FEED["b"]]


def said(model):
    """What it predicts, its optimizer's variables, and the loss of a step that goes on."""
    predicted = model.predict(rows()).tolist()
    if model.optimizer is None:
        return {"predicted": predicted}
    steps = int(tf.keras.backend.get_value(model.optimizer.iterations))
    after = [model.train_on_batch(rows(), WANTED)[0] for _ in range(2)]
    return {"predicted": predicted, "steps": steps, "after": [float(v) for v in after]}


class OfTheProgram(tf.keras.Model):
    def __init__(self):
        super(OfTheProgram, self).__init__()
        self.hidden, self.out = [L.Dense(4, activation="tanh"), L.BatchNormalization()], L.Dense(2)

    def call(self, x):
        for layer in self.hidden:
            x = layer(x)
        return self.out(x)


def various():
    """{name: (a model, what it is given)}; each is trained without what is drawn."""
    columns = [tf.feature_column.numeric_column("b", (3,)), tf.feature_column.embedding_column(
        tf.feature_column.categorical_column_with_hash_bucket("word", 4), 2, initializer=tf.keras.initializers.Constant(0.25))]
    words = L.Input((5,), dtype="int32", name="words")
    masked = L.GRU(3, name="gru")(L.Embedding(9, 4, mask_zero=True)(words))
    numbers = np.random.RandomState(5).randint(0, 9, (16, 5))
    features = {"b": FEED["b"], "word": np.array([["x"], ["y"]] * 8)}
    regularized = dict(kernel_regularizer=tf.keras.regularizers.l2(0.1), activity_regularizer=tf.keras.regularizers.l1(0.01))
    return {
        "sequential": (tf.keras.Sequential([L.Dense(4, activation="relu", input_shape=(3,), **regularized), L.BatchNormalization(), L.Dropout(0.0),
                                            L.Dense(2)]), FEED["b"]),
        "pictures": (tf.keras.Sequential([L.Reshape((6, 2, 1), input_shape=(6, 2)), L.Conv2D(3, 2, padding="same"), L.BatchNormalization(),
                                          L.MaxPooling2D((2, 1)), L.Flatten(), L.Dense(2)]), FEED["a"]),
        "masked": (tf.keras.Model(words, L.Dense(2)(masked)), numbers),
        "masked_sequential": (tf.keras.Sequential([L.Embedding(9, 4, mask_zero=True, input_length=5), L.LSTM(3), L.Dense(2)]), numbers),
        "both_ways": (tf.keras.Sequential([L.Bidirectional(L.LSTM(2, return_sequences=True), input_shape=(6, 2)), L.TimeDistributed(L.Dense(2)),
                                           L.GlobalMaxPooling1D()]), FEED["a"]),
        "two_inputs": (made(), rows()),
        "class": (OfTheProgram(), FEED["b"]),
        "columns": (tf.keras.Sequential([L.DenseFeatures(columns), L.Dense(2)]), features)}


def trained(model, given):
    """The losses of steps of a new optimizer, and what it predicts then; 1.15 trains what it has loaded only where it was not run yet."""
    model.compile(tf.keras.optimizers.SGD(0.05), "mse")
    after = [float(model.train_on_batch(given, WANTED)) for _ in range(3)]
    return {"after": after, "loss": float(model.evaluate(given, WANTED, verbose=0, batch_size=16)), "then": model.predict(given).tolist()}


def write_various(folder):
    found = {}
    for name, (model, given) in various().items():
        model.compile("sgd", "mse")
        model.train_on_batch(given, WANTED)
        model.save(os.path.join(folder, "various", name), save_format="tf")
        found[name] = trained(model, given)
    with open(os.path.join(folder, "various.json"), "w") as f:
        json.dump(found, f)


def read_various(folder, names):
    from tensorflow.python.ops import while_v2  # noqa: F401  (1.15 has the gradient of While where it was imported)
    kinds = various()
    print(json.dumps({name: trained(tf.keras.models.load_model(os.path.join(folder, "various", name)), kinds[name][1]) for name in names}))


class Holding(L.Layer):
    """A layer of the program with lists and dictionaries of its own, some of which lead to weights."""

    def __init__(self):
        super(Holding, self).__init__()
        self.sizes, self._plan, self.by_name = [3, 4], {"a": {"b": [1]}}, {"first": [L.Dense(3)], "none": []}

    def build(self, input_shape):
        self.scale = self.add_weight("scale", shape=(3,), regularizer=tf.keras.regularizers.l2(0.1))
        super(Holding, self).build(input_shape)

    def call(self, x):
        return self.by_name["first"][0](x) * self.scale


def holding():
    """{name: (a model, what it is given)}: the various ones, and those whose layers 1.15 gives other lists and dictionaries."""
    stacked = L.RNN([L.LSTMCell(3), L.GRUCell(2)])
    return dict(various(), layers=(tf.keras.Sequential([
        L.TimeDistributed(L.Dense(4, activity_regularizer=tf.keras.regularizers.l2(0.1)), input_shape=(6, 2)), L.PReLU(shared_axes=[1]),
        L.LayerNormalization(), L.Lambda(lambda x: x * 2), L.Bidirectional(L.SimpleRNN(2, return_sequences=True)), stacked, Holding(),
        L.ActivityRegularization(0.1), L.Dense(2)]), FEED["a"]))


def write_weights(folder):
    found = {}
    for name, (model, given) in holding().items():
        model.compile("sgd", "mse")
        model.train_on_batch(given, WANTED)
        model.save_weights(os.path.join(folder, "weights", name), save_format="tf")
        found[name] = model.predict(given).tolist()
    with open(os.path.join(folder, "weights.json"), "w") as f:
        json.dump(found, f)


def read_weights(folder):
    """What each predicts with its weights; all that was written is read, and all that is there was written."""
    found = {}
    for name, (model, given) in holding().items():
        model.compile("sgd", "mse")
        model.train_on_batch(given, WANTED)
        model.load_weights(os.path.join(folder, "weights", name)).assert_consumed()
        found[name] = model.predict(given).tolist()
    print(json.dumps(found))


def write(folder):
    found = {}
    for optimizer in ("Adam", "Nadam", "RMSprop", "SGD"):
        model = compiled(optimizer)
        for _ in range(3):
            model.train_on_batch(rows(), WANTED)
        model.save_weights(os.path.join(folder, optimizer, "weights"), save_format="tf")
        if optimizer == "Adam":
            model.save(os.path.join(folder, "saved"), save_format="tf")
            tf.keras.experimental.export_saved_model(model, os.path.join(folder, "exported"))
        found[optimizer] = said(model)
    with open(os.path.join(folder, "said.json"), "w") as f:
        json.dump(found, f)


def read(folder, own):
    found = {"exported": said(tf.keras.experimental.load_from_saved_model(os.path.join(folder, "exported")))}
    for optimizer in ("Adam", "Nadam", "RMSprop", "SGD"):
        model = compiled(optimizer)
        status = model.load_weights(os.path.join(folder, optimizer, "weights"))
        model._make_train_function()  # 1.15 makes the slots here, and gives them what they were
        status.assert_consumed()  # 1.15 also asks for the lists that its layers hold, which have no values
        found[optimizer] = said(model)
    if own:
        found["saved"] = said(tf.keras.models.load_model(os.path.join(folder, "saved")))
    print(json.dumps(found))


if __name__ == "__main__":
    what, where = sys.argv[1:3]
    if what == "read":
        read(where, "own" in sys.argv[3:])
    elif what == "read_various":
        read_various(where, sys.argv[3:])
    else:
        {"write": write, "write_various": write_various, "write_weights": write_weights, "read_weights": read_weights}[what](where)
