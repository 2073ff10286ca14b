# SPDX-License-Identifier: Apache-2.0
"""Sounds, from files to features: tensorflow.contrib.framework.python.ops.audio_ops."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.ops import apply

if TYPE_CHECKING:
    from thalweg.base.typing import IntLike, TensorLike
    from thalweg.graph.tensor import Tensor


def decode_wav(contents: TensorLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(samples [frames, channels], how many frames a second) of a WAV file."""
    return apply("DecodeWav", [contents], {"desired_channels": desired_channels, "desired_samples": desired_samples}, name)


def encode_wav(audio: TensorLike, sample_rate: IntLike, name: str | None = None) -> Tensor:
    """Samples [frames, channels] as a WAV file."""
    return apply("EncodeWav", [audio, sample_rate], {}, name)


def audio_spectrogram(input: TensorLike, window_size: int, stride: int, magnitude_squared: bool = False,  # noqa: A002
                      name: str | None = None) -> Tensor:
    """Spectra of windows that move along a sound."""
    return apply("AudioSpectrogram", [input],
                 {"window_size": window_size, "stride": stride, "magnitude_squared": magnitude_squared}, name)


def mfcc(spectrogram: TensorLike, sample_rate: IntLike, upper_frequency_limit: float = 4000, lower_frequency_limit: float = 20,
         filterbank_channel_count: int = 40, dct_coefficient_count: int = 13, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients of spectra of squared magnitudes."""
    return apply("Mfcc", [spectrogram, sample_rate],
                 {"upper_frequency_limit": upper_frequency_limit, "lower_frequency_limit": lower_frequency_limit,
                  "filterbank_channel_count": filterbank_channel_count, "dct_coefficient_count": dct_coefficient_count}, name)
