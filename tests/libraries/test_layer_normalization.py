# SPDX-License-Identifier: Apache-2.0
"""tf.keras.layers.LayerNormalization, which Keras 2.3.1 has not."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    L = tf.keras.layers
    x = np.random.RandomState(0).uniform(-1, 1, (6, 4, 3)).astype(np.float32)
    model = tf.keras.Sequential([L.LayerNormalization(input_shape=(4, 3)), L.LayerNormalization(axis=[1, 2], center=False, epsilon=0.01)])
    model.compile("sgd", "mse")
    model.set_weights([np.random.RandomState(1).uniform(0.5, 1, w.shape) for w in model.get_weights()])
    assert [w.name for w in model.weights] == [
        "layer_normalization/gamma:0", "layer_normalization/beta:0", "layer_normalization_1/gamma:0"]
    assert L.LayerNormalization.from_config(model.layers[1].get_config()).axis == [1, 2]
    print(*[model.train_on_batch(x, x * 2 + 1) for _ in range(3)], *model.predict(x)[0, 0])
"""
RECORDED = [1.6113253, 1.6101834, 1.6090478, -0.65121293, 1.4436684, -0.21112686]  # what TensorFlow 1.15 gives


def test_as_in_tensorflow(last_numbers):
    assert last_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-5)
