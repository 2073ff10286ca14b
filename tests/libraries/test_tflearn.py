# SPDX-License-Identifier: Apache-2.0
"""tflearn 0.5.0: its layers, its trainer with summaries, its model."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import tflearn
    tf.set_random_seed(1)
    rows = np.random.RandomState(0).rand(64, 4).astype(np.float32)
    classes = np.eye(2)[(rows.sum(1) > 2).astype(int)]
    net = tflearn.input_data([None, 4])
    net = tflearn.fully_connected(net, 16, activation="tanh")
    net = tflearn.fully_connected(net, 2, activation="softmax")
    net = tflearn.regression(net, optimizer="adam", learning_rate=0.02, loss="categorical_crossentropy")
    model = tflearn.DNN(net, tensorboard_dir="logs")
    model.fit(rows, classes, n_epoch=100, batch_size=16)  # whose batches its threads deal in any order
    print()
    print(model.evaluate(rows, classes)[0])
"""


def test_a_classifier_trains(last_number):
    assert last_number(PROGRAM) > 0.9
