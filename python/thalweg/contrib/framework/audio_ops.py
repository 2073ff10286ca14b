# SPDX-License-Identifier: Apache-2.0
"""Sounds, from files to features: tensorflow.contrib.framework.python.ops.audio_ops."""
from thalweg.graph.ops import apply


def decode_wav(contents, desired_channels=-1, desired_samples=-1, name=None):
    """(samples [frames, channels], how many frames a second) of a WAV file."""
    return apply("DecodeWav", [contents], {"desired_channels": desired_channels, "desired_samples": desired_samples}, name)


def encode_wav(audio, sample_rate, name=None):
    """Samples [frames, channels] as a WAV file."""
    return apply("EncodeWav", [audio, sample_rate], {}, name)


def audio_spectrogram(input, window_size, stride, magnitude_squared=False, name=None):  # noqa: A002
    """Spectra of windows that move along a sound."""
    return apply("AudioSpectrogram", [input],
                 {"window_size": window_size, "stride": stride, "magnitude_squared": magnitude_squared}, name)


def mfcc(spectrogram, sample_rate, upper_frequency_limit=4000, lower_frequency_limit=20, filterbank_channel_count=40,
         dct_coefficient_count=13, name=None):
    """Mel-frequency cepstral coefficients of spectra of squared magnitudes."""
    return apply("Mfcc", [spectrogram, sample_rate],
                 {"upper_frequency_limit": upper_frequency_limit, "lower_frequency_limit": lower_frequency_limit,
                  "filterbank_channel_count": filterbank_channel_count, "dct_coefficient_count": dct_coefficient_count}, name)
