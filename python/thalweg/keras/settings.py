# SPDX-License-Identifier: Apache-2.0
"""What tf.keras assumes unless told otherwise: the type of floats, the least divisor, the order of an image's axes."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes

if TYPE_CHECKING:
    from thalweg.base.typing import Array, ArrayLike

_now = {"floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}


def floatx() -> str:
    """The type of what models compute with."""
    return _now["floatx"]


def set_floatx(value: str) -> None:
    """Sets the type of what models compute with: "float16", "float32" or "float64"."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _now["floatx"] = str(value)


def cast_to_floatx(x: ArrayLike) -> Array:
    """The array in the type of models."""
    return np.asarray(x, dtype=dtypes.as_dtype(floatx()).as_numpy_dtype)


def epsilon() -> float:
    """What keeps divisors from zero."""
    return _now["epsilon"]


def set_epsilon(value: float) -> None:
    """Sets what keeps divisors from zero."""
    _now["epsilon"] = value


def image_data_format() -> str:
    """The order of an image's axes: "channels_last" or "channels_first"."""
    return _now["image_data_format"]


def set_image_data_format(data_format: str) -> None:
    """Sets the order of an image's axes: "channels_last" or "channels_first"."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _now["image_data_format"] = str(data_format)
