# SPDX-License-Identifier: Apache-2.0
"""Bytes and text, and what counts as a number."""
from __future__ import annotations

import numbers
import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from thalweg.base.typing import PathLike, Text

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def as_bytes(bytes_or_text: Text, encoding: str = "utf-8") -> bytes:
    """Bytes, of text by its encoding."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Text, encoding: str = "utf-8") -> str:
    """Gives a string; bytes are decoded.

    Parameters
    ----------
    bytes_or_text : bytes or str
    encoding : str
        Of the bytes.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        It is neither bytes nor a string.

    Examples
    --------
    >>> tw.compat.as_str(b"abc")
    'abc'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: object) -> str:
    """Text of anything: of bytes what they say."""
    return as_str(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: PathLike) -> str | bytes:
    return os.fspath(path) if hasattr(path, "__fspath__") else path
