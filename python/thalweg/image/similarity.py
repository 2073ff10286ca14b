# SPDX-License-Identifier: Apache-2.0
"""Edges and variation of images, and how alike two of them are."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.image.colors import convert_image_dtype
from thalweg.image.geometry import image_rank
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """The sum of absolute differences between neighbors, for each image."""
    with name_scope(name, "total_variation"):
        rank = image_rank(images)
        down = images[..., 1:, :, :] - images[..., :-1, :, :]
        right = images[..., :, 1:, :] - images[..., :, :-1, :]
        axes = None if rank == 3 else [1, 2, 3]
        return sum(math_ops.reduce_sum(math_ops.abs_(d), axes) for d in (down, right))


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """(differences down, differences to the right), the last ones zero."""
    if image.shape.ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    down = array_ops.concat([image[:, 1:] - image[:, :-1], array_ops.zeros_like(image[:, :1])], 1)
    right = array_ops.concat([image[:, :, 1:] - image[:, :, :-1], array_ops.zeros_like(image[:, :, :1])], 2)
    return down, right


def _each_channel(images, kernel, **attrs):
    """A convolution of [rows, columns, kernels] with each channel."""
    channels = images.shape._size(-1)
    filters = array_ops.tile(constant(np.asarray(kernel, np.float32)[:, :, None, :]), [1, 1, channels, 1])
    filters = math_ops.cast(filters, images.dtype.base_dtype)
    return apply("DepthwiseConv2dNative", [images, filters], {"strides": [1, 1, 1, 1], "padding": "VALID", **attrs})


def sobel_edges(image: TensorLike) -> Tensor:
    """[..., 2]: the differences downwards and to the right."""
    image = convert_to_tensor(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)
    padded = array_ops.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    made = _each_channel(padded, np.stack([down, down.T], -1))
    shape = array_ops.concat([array_ops.shape(image), [2]], 0)
    made = array_ops.reshape(made, shape)
    made.set_shape(image.shape.concatenate([2]))
    return made


def _in_float32(value):
    return convert_image_dtype(value, dtypes.float32)


def _pair(a, b, max_val):
    """Both images and the largest value, in floats."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    if not a.shape.is_compatible_with(b.shape):
        raise ValueError(f"Shapes {a.shape} and {b.shape} are incompatible")
    return _in_float32(a), _in_float32(b), _in_float32(math_ops.cast(max_val, a.dtype.base_dtype))


def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """The ratio of signal to noise of each pair of images, in decibels."""
    with name_scope(name, "PSNR", [a, b]) as scope:
        a, b, most = _pair(a, b, max_val)
        error = math_ops.reduce_mean(apply("SquaredDifference", [a, b]), [-3, -2, -1])
        tens = np.float32(np.log(10))
        return math_ops.subtract(20 * apply("Log", [most]) / tens, np.float32(10 / np.log(10)) * apply("Log", [error]), name=scope)


def _window(size, sigma):
    """[size, size, 1]: a normal distribution."""
    at = np.arange(size, dtype=np.float32) - (size - 1) / 2
    line = -0.5 * np.square(at) / np.float32(sigma) ** 2
    plane = np.exp(line[:, None] + line[None, :])
    return (plane / plane.sum())[:, :, None]


def _ssim_of_channels(a, b, most, size, sigma, k1, k2):
    """(structural similarity, its part of contrast and structure) of each channel."""
    for shape in (a.shape, b.shape):
        sides = shape.as_list()[-3:-1] if shape.ndims is not None else []
        if any(s is not None and s < size for s in sides):
            raise ValueError(f"Images of shape {shape} are smaller than the window, {size}")
    window = _window(size, sigma)

    def mean(x):
        shape = array_ops.shape(x)
        made = _each_channel(array_ops.reshape(x, array_ops.concat([[-1], shape[-3:]], 0)) if x.shape.ndims != 4 else x, window)
        return array_ops.reshape(made, array_ops.concat([shape[:-3], array_ops.shape(made)[1:]], 0))
    c1, c2 = (k1 * most) ** 2, (k2 * most) ** 2
    mean_a, mean_b = mean(a), mean(b)
    product, squares = mean_a * mean_b * 2.0, apply("Square", [mean_a]) + apply("Square", [mean_b])
    luminance = (product + c1) / (squares + c1)
    structure = (mean(a * b) * 2.0 - product + c2) / (mean(apply("Square", [a]) + apply("Square", [b])) - squares + c2)
    return math_ops.reduce_mean(luminance * structure, [-3, -2]), math_ops.reduce_mean(structure, [-3, -2])


def ssim(img1: TensorLike, img2: TensorLike, max_val: TensorLike, filter_size: int = 11, filter_sigma: float = 1.5,
         k1: float = 0.01, k2: float = 0.03) -> Tensor:
    """The structural similarity of each pair of images: 1 where they are the same."""
    with name_scope(None, "SSIM", [img1, img2]):
        a, b, most = _pair(img1, img2, max_val)
        return math_ops.reduce_mean(_ssim_of_channels(a, b, most, filter_size, filter_sigma, k1, k2)[0], [-1])


def ssim_multiscale(img1: TensorLike, img2: TensorLike, max_val: TensorLike,
                    power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333), filter_size: int = 11,
                    filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03) -> Tensor:
    """ssim over several sizes of the images, each half of the one before."""
    with name_scope(None, "MS-SSIM", [img1, img2]):
        a, b, most = _pair(img1, img2, max_val)
        if a.shape.ndims != 4:
            raise NotImplementedError(f"ssim_multiscale of images of shape {a.shape}: [batch, rows, columns, channels]")
        found = []
        for level in range(len(power_factors)):
            if level > 0:
                a, b = _halved(a), _halved(b)
            likeness, structure = _ssim_of_channels(a, b, most, filter_size, filter_sigma, k1, k2)
            found.append(apply("Relu", [structure]))
        found[-1] = apply("Relu", [likeness])
        powers = array_ops.stack(found, axis=-1) ** constant(list(power_factors), dtypes.float32)
        return math_ops.reduce_mean(math_ops.reduce_prod(powers, [-1]), [-1])


def _halved(x):
    odd = array_ops.shape(x)[1:3] % 2
    padded = array_ops.pad(x, array_ops.stack([[0, 0], [0, odd[0]], [0, odd[1]], [0, 0]]), mode="SYMMETRIC")
    made = apply("AvgPool", [padded], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"})
    made.set_shape([None if s is None else s if i in (0, 3) else (s + 1) // 2 for i, s in enumerate(x.shape.as_list())])
    return made
