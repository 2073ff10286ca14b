# SPDX-License-Identifier: Apache-2.0
"""A program of tf.keras that writes files of models into a folder, or reads those that are there:

    keras_files.py write|read FOLDER [own]

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
        if own:  # 1.15 also asks for the lists that its layers hold, which have no values
            status.assert_consumed()
        found[optimizer] = said(model)
    if own:
        found["saved"] = said(tf.keras.models.load_model(os.path.join(folder, "saved")))
    print(json.dumps(found))


if __name__ == "__main__":
    write(sys.argv[2]) if sys.argv[1] == "write" else read(sys.argv[2], "own" in sys.argv[3:])
