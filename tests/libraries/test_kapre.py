# SPDX-License-Identifier: Apache-2.0
"""kapre 0.1.7: spectrograms of waves as layers, in front of a layer that trains."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    from kapre.augmentation import AdditiveNoise
    from kapre.time_frequency import Melspectrogram, Spectrogram
    from kapre.utils import Normalization2D
    waves = np.sin(np.arange(8)[:, None] * 0.01 * np.arange(1024) + 0.3)[:, None].astype(np.float32)
    L = tf.keras.layers
    model = tf.keras.Sequential([
        Melspectrogram(n_dft=128, n_hop=64, input_shape=(1, 1024), sr=4000, n_mels=16, fmin=0., fmax=2000., power_melgram=1.,
                       return_decibel_melgram=True, trainable_fb=False, trainable_kernel=False),
        Normalization2D(str_axis="freq"), AdditiveNoise(power=0.0), L.Flatten(), L.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    draw = np.random.RandomState(0)
    model.layers[-1].set_weights([draw.uniform(-0.05, 0.05, w.shape) for w in model.layers[-1].get_weights()])
    losses = model.fit(waves, np.arange(8.) / 8, epochs=12, batch_size=4, verbose=0, shuffle=False).history["loss"]
    spectrogram = tf.keras.Sequential([Spectrogram(n_dft=64, n_hop=32, input_shape=(1, 1024), padding="valid")])
    found = spectrogram.predict(waves[:2])
    print(*losses[::4], *model.predict(waves[:3]).ravel(), found.mean(), found.std())
"""
RECORDED = [  # what TensorFlow 1.15 gives
    0.35122623294591904, 0.06752375792711973, 0.039941828697919846, 0.27993563, 0.09728106, 0.20713949, 11.26697, 77.66386]


def test_spectrograms_are_those_of_tensorflow(last_numbers):
    assert last_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-4, abs=1e-6)
