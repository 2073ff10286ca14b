# SPDX-License-Identifier: Apache-2.0
"""tw.compat: tw.compat.v1 is the package itself; text conversions."""
import numbers
import os
import sys

import numpy as np

v1 = sys.modules["thalweg"]

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def as_bytes(bytes_or_text, encoding="utf-8"):
    """Bytes, of text by its encoding."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text, encoding="utf-8"):
    """Text, of bytes by their encoding."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value):
    """Text of anything: of bytes what they say."""
    return as_str(value) if isinstance(value, bytes) else str(value)


def path_to_str(path):
    return os.fspath(path) if hasattr(path, "__fspath__") else path


def forward_compatible(year, month, day):
    return False


def __getattr__(name):
    if name == "v2":
        from thalweg.names import NotYetImplementedError
        raise NotYetImplementedError("tf.compat.v2 is not implemented in Thalweg, which has the interface of TensorFlow 1")
    raise AttributeError(f"module 'thalweg.compat' has no attribute '{name}'")
