# SPDX-License-Identifier: Apache-2.0
"""Functions of tf.image as TensorFlow 2 calls them: tw.compat.v2.image. Pixels are squares whose centers lie at halves."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.image.geometry import padded_to, resized
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import IntLike, IntsLike, TensorLike
    from thalweg.graph.tensor import Tensor


class ResizeMethod:
    """How resize() finds the elements of images of another size."""
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
    LANCZOS3, LANCZOS5, GAUSSIAN, MITCHELLCUBIC = "lanczos3", "lanczos5", "gaussian", "mitchellcubic"


# Of the methods that are weights of neighbors: the name of these weights.
_KERNELS = {"bilinear": "triangle", "bicubic": "keyscubic", "lanczos3": "lanczos3", "lanczos5": "lanczos5", "gaussian": "gaussian",
            "mitchellcubic": "mitchellcubic"}
_PLAIN = {"bilinear": "ResizeBilinear", "bicubic": "ResizeBicubic"}


def _resampled(batch: Tensor, size: Tensor, method: str, antialias: bool) -> Tensor:
    if method == "nearest":
        return apply("ResizeNearestNeighbor", [batch, size], {"half_pixel_centers": True})
    if method == "area":
        return apply("ResizeArea", [batch, size])
    if method in _PLAIN and not antialias:
        return apply(_PLAIN[method], [batch, size], {"half_pixel_centers": True})
    if method not in _KERNELS:
        raise ValueError(f"Resize method is not implemented: {method!r}")
    given = math_ops.cast(array_ops.shape(batch)[1:3], dtypes.float32)
    scale = math_ops.cast(size, dtypes.float32) / given
    return apply("ScaleAndTranslate", [batch, size, scale, array_ops.zeros([2])],
                 {"kernel_type": _KERNELS[method], "antialias": antialias})


def resize(images: TensorLike, size: IntsLike, method: str = ResizeMethod.BILINEAR, preserve_aspect_ratio: bool = False,
           antialias: bool = False, name: str | None = None) -> Tensor:
    """Images of another size, [rows, columns], in float32 but for the method of the nearest pixel. antialias: what is made smaller is
    smoothed first."""
    with name_scope(name, "resize", [images, size]):
        return resized(images, size, preserve_aspect_ratio, lambda batch, wanted: _resampled(batch, wanted, method, antialias))


def resize_with_pad(image: TensorLike, target_height: IntLike, target_width: IntLike, method: str = ResizeMethod.BILINEAR,
                    antialias: bool = False) -> Tensor:
    """The image as large as fits, with black bars."""
    with name_scope(None, "resize_image_with_pad", [image]):
        return padded_to(image, target_height, target_width, lambda batch, size: resize(batch, size, method, antialias=antialias))


def crop_and_resize(image: TensorLike, boxes: TensorLike, box_indices: TensorLike, crop_size: IntsLike, method: str = "bilinear",
                    extrapolation_value: float = 0, name: str | None = None) -> Tensor:
    """Boxes of images, brought to one size."""
    return apply("CropAndResize", [image, boxes, box_indices, crop_size], {"method": method, "extrapolation_value": extrapolation_value},
                 name)


def extract_glimpse(input: TensorLike, size: IntsLike, offsets: TensorLike, centered: bool = True, normalized: bool = True,  # noqa: A002
                    noise: str = "uniform", name: str | None = None) -> Tensor:
    """Windows of images, with noise ("uniform", "gaussian" or "zero") where they reach over the edges."""
    input = convert_to_tensor(input, name="input")
    return apply("ExtractGlimpse", [input, size, offsets],
                 {"centered": centered, "normalized": normalized, "uniform_noise": False, "noise": noise}, name)
