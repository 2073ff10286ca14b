# SPDX-License-Identifier: Apache-2.0
"""Transforms, windows and frames. Values recorded with TensorFlow 1.15, or numpy's."""
import numpy as np
import pytest

import thalweg as tw


def run(fetch):
    with tw.Session() as session:
        return session.run(fetch)


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as made:
        yield made


def near(tensor, expected):
    value = run(tensor)
    assert value.shape == np.shape(expected)
    assert np.allclose(value, expected, atol=1e-4), value


def test_transforms():
    random = np.random.RandomState(0)
    x = (random.rand(3, 5, 12) + 1j * random.rand(3, 5, 12)).astype(np.complex64)
    near(tw.fft(x), np.fft.fft(x))
    near(tw.signal.ifft(x), np.fft.ifft(x))
    near(tw.fft2d(x), np.fft.fft2(x))
    near(tw.spectral.fft3d(x), np.fft.fftn(x))
    real = random.rand(4, 9).astype(np.float32)
    near(tw.signal.rfft(real), np.fft.rfft(real))
    near(tw.spectral.rfft(real, [16]), np.fft.rfft(real, 16))
    near(tw.signal.rfft(real, [5]), np.fft.rfft(real, 5))
    near(tw.signal.rfft2d(real), np.fft.rfft2(real))
    near(tw.signal.irfft(np.fft.rfft(real).astype(np.complex64), [9]), real)
    near(tw.signal.irfft2d(tw.signal.rfft2d(real), [4, 9]), real)
    near(tw.signal.rfft(np.arange(4, dtype=np.float32), [6]), [6, -3.5 - 2.5980759j, 1.5 + 0.8660249j, -2])
    near(tw.signal.irfft(np.arange(3).astype(np.complex64), [5]), [1.2, -0.5236068, -0.0763932, -0.0763932, -0.5236068])


@pytest.mark.parametrize("length", [6, 7, 10])
def test_gradients_of_real_transforms(length):
    x = tw.constant(np.random.RandomState(1).rand(2, 8))
    weights = np.random.RandomState(2).rand(2, length // 2 + 1)
    loss = tw.reduce_sum(tw.real(tw.signal.rfft(x, [length])) * weights) + tw.reduce_sum(tw.imag(tw.signal.rfft(x, [length])))
    value, gradient = run([loss, tw.gradients(loss, x)[0]])
    base = np.random.RandomState(1).rand(2, 8)

    def numeric(a):
        spectrum = np.fft.rfft(a, length)
        return (spectrum.real * weights).sum() + spectrum.imag.sum()
    assert np.isclose(value, numeric(base))
    for at in np.ndindex(2, 8):
        step = np.zeros((2, 8))
        step[at] = 1e-5
        assert np.isclose(gradient[at], (numeric(base + step) - numeric(base - step)) / 2e-5, atol=1e-6)


@pytest.mark.parametrize("length", [5, 6])
def test_gradients_of_inverse_transforms(length):
    base = np.random.RandomState(3).rand(2, 4) + 1j * np.random.RandomState(4).rand(2, 4)
    weights = np.random.RandomState(5).rand(2, length)
    re, im = tw.constant(base.real), tw.constant(base.imag)
    loss = tw.reduce_sum(tw.signal.irfft(tw.complex(re, im), [length]) * weights)
    gradients = run(tw.gradients(loss, [re, im]))

    def numeric(a):
        return (np.fft.irfft(a, length) * weights).sum()
    for part, unit in zip(gradients, (1, 1j)):
        for at in np.ndindex(2, 4):
            step = np.zeros((2, 4), complex)
            step[at] = 1e-5 * unit
            assert np.isclose(part[at], (numeric(base + step) - numeric(base - step)) / 2e-5, atol=1e-6)


def test_gradient_of_complex_transform():
    re = tw.constant(np.random.RandomState(6).rand(6))
    loss = tw.reduce_sum(tw.square(tw.abs(tw.fft(tw.complex(re, tw.zeros_like(re))))))
    near(tw.gradients(loss, re)[0], 2 * 6 * np.random.RandomState(6).rand(6))


def test_windows_and_frames():
    near(tw.signal.hann_window(5), [0, 0.5, 1, 0.5, 0])
    near(tw.signal.hann_window(4), [0, 0.5, 1, 0.5])
    near(tw.signal.hamming_window(4, periodic=False), [0.08, 0.77, 0.77, 0.08])
    near(tw.signal.hann_window(1), [1])
    near(tw.signal.frame(tw.range(7.0), 3, 2), [[0, 1, 2], [2, 3, 4], [4, 5, 6]])
    near(tw.signal.frame(tw.range(7.0), 3, 2, pad_end=True), [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 0, 0]])
    near(tw.signal.stft(tw.range(6.0), 4, 2), [[4, -2 + 1j, 0], [8, -4 + 1j, 0]])
    near(tw.signal.overlap_and_add(tw.ones([3, 4]), 2), [1, 1, 2, 2, 2, 2, 1, 1])
    back = tw.signal.inverse_stft(tw.signal.stft(tw.range(12.0), 4, 2), 4, 2, window_fn=tw.signal.inverse_stft_window_fn(2))
    near(back, [0, 0.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 5.5])
    near(tw.signal.fftshift(tw.range(5)), [3, 4, 0, 1, 2])
    near(tw.signal.ifftshift(tw.signal.fftshift(tw.range(5))), [0, 1, 2, 3, 4])


def test_cosines():
    x = tw.range(4.0)
    near(tw.signal.dct(x), [12, -6.3086443, 0, -0.4483415])
    near(tw.signal.dct(x, norm="ortho"), [3, -2.2304425, 0, -0.15851265])
    near(tw.signal.dct(x, type=3), [6.972287, -7.6063375, 1.9494827, -1.3154323])
    near(tw.signal.dct(x, type=1), [9, -4, 0, -1])
    near(tw.signal.idct(tw.signal.dct(x)), [0, 8, 16, 24])
