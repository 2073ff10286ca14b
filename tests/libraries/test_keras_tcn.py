# SPDX-License-Identifier: Apache-2.0
"""keras-tcn 2.9.3: a classifier of dilated convolutions trains; moving averages of layers within its layer move as well."""
import pytest

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore")
    import numpy as np
    import tensorflow as tf
    from tcn import TCN, compiled_tcn
    draw = np.random.RandomState(0)
    rows = draw.uniform(-1, 1, (32, 12, 2)).astype(np.float32)
    classes = (rows[:, 0, 0] * rows[:, 3, 1] > 0).astype(np.int32)[:, None]
    def seeded(model):
        model.set_weights([draw.uniform(-0.5, 0.5, v.shape.as_list()) + (0.6 if "moving_variance" in v.name else 0.)
                           for v in model.weights])
        return model
    model = seeded(compiled_tcn(2, 2, 6, 2, [1, 2, 4], 2, 12, return_sequences=False, dropout_rate=0., activation="relu",
                                lr=0.02))
    losses = model.fit(rows, classes, epochs=10, batch_size=8, verbose=0, shuffle=False).history["loss"]
    assert losses[-1] < losses[0]
    inputs = tf.keras.layers.Input((12, 2))
    outputs = TCN(4, 3, 1, [1, 2], "same", False, 0., True, use_batch_norm=True)(inputs)
    normed = tf.keras.models.Model(inputs, outputs)
    normed.compile("sgd", "mse")
    seeded(normed)
    second = [normed.train_on_batch(rows, rows[:, :, :1] * np.ones((1, 1, 4))) for _ in range(3)]
    assert TCN.from_config(normed.layers[1].get_config()).dilations == [1, 2]
    print(*losses[::3], *second, *model.predict(rows[:3]).ravel(), normed.predict(rows[:2]).sum())
"""
RECORDED = [  # what TensorFlow 1.15 gives
    0.8653205037117004, 0.6543852686882019, 0.55927674472332, 0.33784008771181107, 0.5496122, 0.54048866, 0.53177863,
    0.0659517, 0.93404824, 0.9060371, 0.093962945, 0.001404461, 0.99859554, 2.2356353]


def test_nets_train_as_in_tensorflow(last_numbers):
    assert last_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-4, abs=1e-6)
