# SPDX-License-Identifier: Apache-2.0
"""Colors distorted by one matrix, which is cheaper than by way of hue and saturation."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.image.colors import convert_image_dtype
from thalweg.operations import random_ops

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def adjust_hsv_in_yiq(image: TensorLike, delta_hue: TensorLike = 0, scale_saturation: TensorLike = 1, scale_value: TensorLike = 1,
                      name: str | None = None) -> Tensor:
    """RGB images with hue turned by `delta_hue` (radians), saturation and value multiplied, in the space YIQ.

    Parameters
    ----------
    image : tensor_like
        Of shape [..., rows, columns, 3] and any real type.
    delta_hue, scale_saturation, scale_value : tensor_like
        Floats.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `image`. Floats may leave [0, 1], integers stay in their range.

    Raises
    ------
    ValueError
        The image has fewer than three dimensions. InvalidArgumentError, in the step: another number of channels.
    """
    with name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = convert_to_tensor(image, name="image")
        floats = convert_image_dtype(image, dtypes.float32)
        made = apply("AdjustHsvInYiq", [floats, *(convert_to_tensor(x, dtypes.float32)
                                                  for x in (delta_hue, scale_saturation, scale_value))])
        return convert_image_dtype(made, image.dtype.base_dtype)


def random_hsv_in_yiq(image: TensorLike, max_delta_hue: float = 0, lower_saturation: float = 1, upper_saturation: float = 1,
                      lower_value: float = 1, upper_value: float = 1, seed: int | None = None) -> Tensor:
    """`adjust_hsv_in_yiq` by random numbers: a hue between -max_delta_hue and max_delta_hue, scales between their bounds."""
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for what, lower, upper in (("saturation", lower_saturation, upper_saturation), ("value", lower_value, upper_value)):
        if lower < 0:
            raise ValueError(f"lower_{what} must be non-negative.")
        if lower > upper:
            raise ValueError(f"lower_{what} must be < upper_{what}.")
    if max_delta_hue == 0:
        hue = 0
    else:
        hue = random_ops.random_uniform([], -max_delta_hue, max_delta_hue, seed=seed)

    def scale(lower, upper):
        return lower if lower == upper else random_ops.random_uniform([], lower, upper, seed=seed)
    return adjust_hsv_in_yiq(image, hue, scale(lower_saturation, upper_saturation), scale(lower_value, upper_value))
