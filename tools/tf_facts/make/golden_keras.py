# SPDX-License-Identifier: Apache-2.0
"""A Keras 3 model as 2.21 exports it, with recorded values: golden_keras.py OUT_DIR. Writes saved_models/2.21/keras_export
and keras_export.npz: convolution, batch normalization with statistics that are not trivial, an LSTM, a vocabulary of words."""
import os
import sys

import numpy as np
import tensorflow as tf

out = os.path.join(sys.argv[1], "saved_models", "2.21")
tf.keras.utils.set_random_seed(7)
values = np.random.RandomState(3)
words = tf.keras.Input((4,), dtype="string", name="words")
image = tf.keras.Input((6, 6, 2), name="image")
ids = tf.keras.layers.StringLookup(vocabulary=["the", "quick", "fox"])(words)
text = tf.keras.layers.LSTM(3)(tf.keras.layers.Embedding(4, 5)(ids))
norm = tf.keras.layers.BatchNormalization()
seen = norm(tf.keras.layers.Conv2D(4, 3, activation="relu")(image))
seen = tf.keras.layers.GlobalAveragePooling2D()(seen)
both = tf.keras.layers.Concatenate()([text, seen])
model = tf.keras.Model([words, image], {"class": tf.keras.layers.Dense(3, activation="softmax", name="class")(both), "code": seen})
norm.set_weights([values.uniform(0.5, 2.0, 4).astype(np.float32) for _ in range(4)])
model.export(os.path.join(out, "keras_export"), verbose=False)

fed = {"words": np.array([[b"the", b"fox", b"quick", b"zebra"], [b"fox", b"fox", b"", b"the"]]),
       "image": values.standard_normal((2, 6, 6, 2)).astype(np.float32)}
served = tf.saved_model.load(os.path.join(out, "keras_export")).signatures["serving_default"]
given = served(**{k: tf.constant(v) for k, v in fed.items()})
np.savez(os.path.join(out, "keras_export.npz"), **{"in." + k: v for k, v in fed.items()},
         **{"out." + k: v.numpy() for k, v in given.items()})
