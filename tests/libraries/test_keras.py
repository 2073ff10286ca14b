# SPDX-License-Identifier: Apache-2.0
"""Keras 2.3.1 with its TensorFlow backend: layers, batch normalization, recurrent layers, callbacks, its own optimizers."""

CONVOLUTIONAL = """
    import numpy as np
    import tensorflow as tf
    import keras
    from keras.layers import BatchNormalization, Conv2D, Dense, Dropout, Flatten, MaxPooling2D
    np.random.seed(0)
    tf.set_random_seed(1)
    images = np.random.rand(128, 8, 8, 1).astype("float32")
    images[:64] *= 0.5
    classes = keras.utils.to_categorical(np.repeat([0, 1], 64), 2)
    model = keras.models.Sequential([
        Conv2D(8, (3, 3), padding="same", activation="relu", input_shape=(8, 8, 1)), BatchNormalization(), MaxPooling2D(),
        Dropout(0.2), Flatten(), Dense(16, activation="relu"), Dense(2, activation="softmax")])
    model.compile(keras.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(images, classes, epochs=12, batch_size=32, verbose=0, validation_split=0.1,
                        callbacks=[keras.callbacks.ReduceLROnPlateau()])
    assert history.history["loss"][-1] < history.history["loss"][0]
    weights = model.get_weights()
    before = model.predict(images)
    model.set_weights([0 * w for w in weights])
    model.set_weights(weights)
    assert np.allclose(model.predict(images), before)
    print(model.evaluate(images, classes, verbose=0)[1])
"""

RECURRENT = """
    import numpy as np
    import tensorflow as tf
    from keras.layers import Bidirectional, concatenate, Dense, Embedding, GRU, Input, LSTM
    from keras.models import Model
    np.random.seed(0)
    tf.set_random_seed(1)
    words = Input((6,))
    vectors = Embedding(20, 8)(words)
    both = concatenate([Bidirectional(LSTM(6))(vectors), GRU(6)(vectors)])
    model = Model(words, Dense(1, activation="sigmoid")(both))
    model.compile("rmsprop", "binary_crossentropy", metrics=["acc"])
    rows = np.random.randint(0, 20, (200, 6))
    model.fit(rows, rows[:, 0] > 9, epochs=30, batch_size=20, verbose=0)
    print(model.evaluate(rows, rows[:, 0] > 9, verbose=0)[1])
"""


def test_a_convolutional_net_trains(last_number):
    assert last_number(CONVOLUTIONAL) > 0.95


def test_recurrent_layers_train(last_number):
    assert last_number(RECURRENT) > 0.75
