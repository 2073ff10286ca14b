# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.signal: tw.signal under its older name."""
from thalweg.base import names
from thalweg.signal import frame, hamming_window, hann_window, inverse_stft, inverse_stft_window_fn, overlap_and_add, stft  # noqa: F401

names.complete(globals())
