# SPDX-License-Identifier: Apache-2.0
"""Pictures as files. Those functions that are one operation are in base/operation_paths.py."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.image.colors import convert_image_dtype
from thalweg.operations import random_ops

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, IntLike, TensorLike
    from thalweg.graph.tensor import Tensor

_GIVEN = (dtypes.uint8, dtypes.uint16, dtypes.float32)  # the types that the operation has


def decode_image(contents: TensorLike, channels: int | None = None, dtype: DTypeLike = dtypes.uint8, name: str | None = None,
                 expand_animations: bool = True) -> Tensor:
    """Pixels of a JPEG, PNG, BMP or GIF file. One operation, which TensorFlow has since version 2.

    Parameters
    ----------
    contents : tensor_like
        The bytes of the file, a scalar.
    channels : int, optional
        1, 3 or 4; those of the file where it is left out.
    dtype : DTypeLike
        A type of integers or floats: full brightness is the largest integer, or 1.0. uint16 of a file of bytes is 256 times the byte.
    name : str, optional
        Name of the node.
    expand_animations : bool
        Whether pixels of a GIF have a dimension for its frames; else there is the first frame only.

    Returns
    -------
    Tensor
        Of shape [height, width, channels] or, of a GIF, [frames, height, width, 3].

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     file = tw.image.encode_png(tw.constant([[[7], [8]]], tw.uint8))
    ...     sess.run(tw.image.decode_image(file, channels=3)).tolist()
    [[[7, 7, 7], [8, 8, 8]]]
    """
    with name_scope(name, "decode_image") as scope:
        if channels not in (None, 0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        dtype = dtypes.as_dtype(dtype)
        if not (dtype.is_floating or dtype.is_integer):
            raise AttributeError("dtype must be either floating point or integer")
        given = dtype if dtype in _GIVEN else dtypes.uint8
        image = apply("DecodeImage", [contents], {"channels": channels or 0, "dtype": given, "expand_animations": expand_animations},
                      scope)
        return image if given == dtype else convert_image_dtype(image, dtype)


def adjust_jpeg_quality(image: TensorLike, jpeg_quality: IntLike, name: str | None = None) -> Tensor:
    """What is left of an image once it was a JPEG file of this quality."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        dtype, channels = image.dtype.base_dtype, image.shape.as_list()[-1] if image.shape.ndims is not None else None
        pixels = convert_image_dtype(image, dtypes.uint8, saturate=True)
        file = apply("EncodeJpegVariableQuality", [pixels, convert_to_tensor(jpeg_quality, dtype=dtypes.int32)])
        pixels = apply("DecodeJpeg", [file], {"channels": channels or 0})
        return convert_image_dtype(pixels, dtype, saturate=True)


def random_jpeg_quality(image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None) -> Tensor:
    """adjust_jpeg_quality by a random quality of [min_jpeg_quality, max_jpeg_quality)."""
    if min_jpeg_quality < 0 or max_jpeg_quality < 0 or min_jpeg_quality > 100 or max_jpeg_quality > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_ops.random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)
