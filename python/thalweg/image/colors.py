# SPDX-License-Identifier: Apache-2.0
"""Element types, brightness, contrast and colors of images."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.operations import array_ops, math_ops, random_ops

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, TensorLike
    from thalweg.graph.tensor import Tensor


def _largest(dtype):
    return np.iinfo(dtype.as_numpy_dtype).max


def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Tensor:
    """Another element type: floats between 0 and 1, integers up to their largest."""
    image, dtype = convert_to_tensor(image, name="image"), dtypes.as_dtype(dtype)
    given = image.dtype.base_dtype
    if dtype is given:
        return array_ops.identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as scope:
        if given.is_floating and dtype.is_floating:
            return math_ops.cast(image, dtype, name=scope)
        if given.is_floating:
            return _cast(image * (_largest(dtype) + 0.5), dtype, saturate, scope)
        if dtype.is_floating:
            return math_ops.multiply(math_ops.cast(image, dtype), 1.0 / _largest(given), name=scope)
        if _largest(given) > _largest(dtype):
            return _cast(image // ((_largest(given) + 1) // (_largest(dtype) + 1)), dtype, saturate, scope)
        return math_ops.multiply(_cast(image, dtype, saturate, None), (_largest(dtype) + 1) // (_largest(given) + 1), name=scope)


def _cast(image, dtype, saturate, name):
    return math_ops.saturate_cast(image, dtype, name=name) if saturate else math_ops.cast(image, dtype, name=name)


def _in_floats(image, function):
    """function of the image in floats, in the image's own type again."""
    given = image.dtype.base_dtype
    floats = image if given.is_floating else convert_image_dtype(image, dtypes.float32)
    return convert_image_dtype(function(floats), given, saturate=True)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """delta added, in the scale of floats."""
    with name_scope(None, "adjust_brightness", [image, delta]):
        image = convert_to_tensor(image, name="image")
        return _in_floats(image, lambda x: x + math_ops.cast(delta, x.dtype.base_dtype))


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """The image with a random number between -max_delta and max_delta added, in the scale of floats, [0, 1].

    Parameters
    ----------
    image : tensor_like
        Of any real type; integers are scaled to [0, 1] and back.
    max_delta : float
        The most that is added; not below 0.
    seed : int, optional
        Seed of the number.

    Returns
    -------
    Tensor
        Of the type and shape of `image`.

    Raises
    ------
    ValueError
        If `max_delta` is below 0.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     changed = sess.run(tw.image.random_brightness(tw.zeros([2, 2, 3]), 0.1))
    >>> bool(abs(changed).max() <= 0.1)
    True
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_ops.random_uniform([], -max_delta, max_delta, seed=seed))


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Each channel stretched about its mean."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]):
        images = convert_to_tensor(images, name="images")

        def stretch(x):
            mean = math_ops.reduce_mean(x, [-3, -2], keepdims=True)
            return (x - mean) * math_ops.cast(contrast_factor, x.dtype.base_dtype) + mean
        return _in_floats(images, stretch)


def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """The image with each channel stretched about its mean by a random factor.

    Parameters
    ----------
    image : tensor_like
        Of shape [..., height, width, channels] and any real type.
    lower, upper : float
        The factor's bounds.
    seed : int, optional
        Seed of the factor.

    Returns
    -------
    Tensor
        Of the type and shape of `image`.

    Raises
    ------
    ValueError
        If `lower` is below 0 or `upper` not above it.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.image.random_contrast(tw.ones([2, 2, 1]), 0.5, 2.0)).squeeze()
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_contrast(image, random_ops.random_uniform([], lower, upper, seed=seed))


def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """gain * image ** gamma."""
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        if not hasattr(gamma, "graph") and gamma < 0:
            raise ValueError("Gamma should be a non-negative real number.")
        return _in_floats(convert_to_tensor(image), lambda x: gain * x ** gamma)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """The hue of RGB turned by delta."""
    with name_scope(name, "adjust_hue", [image]):
        return _in_floats(convert_to_tensor(image), lambda x: apply("AdjustHue", [x, delta]))


def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Tensor:
    """The saturation of RGB times a factor."""
    with name_scope(name, "adjust_saturation", [image]):
        return _in_floats(convert_to_tensor(image), lambda x: apply("AdjustSaturation", [x, saturation_factor]))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """The image with its hue turned by a random number between -max_delta and max_delta.

    Parameters
    ----------
    image : tensor_like
        RGB, of shape [..., height, width, 3] and any real type.
    max_delta : float
        Between 0 and 0.5: half a turn.
    seed : int, optional
        Seed of the number.

    Returns
    -------
    Tensor
        Of the type and shape of `image`.

    Raises
    ------
    ValueError
        If `max_delta` is not between 0 and 0.5.
    """
    if max_delta > 0.5 or max_delta < 0:
        raise ValueError("max_delta must be between 0 and 0.5.")
    return adjust_hue(image, random_ops.random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """The image with its saturation multiplied by a random number between `lower` and `upper`.

    Parameters
    ----------
    image : tensor_like
        RGB, of shape [..., height, width, 3] and any real type.
    lower, upper : float
        The factor's bounds.
    seed : int, optional
        Seed of the factor.

    Returns
    -------
    Tensor
        Of the type and shape of `image`.

    Raises
    ------
    ValueError
        If `lower` is below 0 or `upper` not above it.
    """
    if upper <= lower or lower < 0:
        raise ValueError("upper must be > lower, and lower must be non-negative.")
    return adjust_saturation(image, random_ops.random_uniform([], lower, upper, seed=seed))


def per_image_standardization(image: TensorLike) -> Tensor:
    """Each image with mean 0 and variance 1, or less where all elements are nearly alike.

    Parameters
    ----------
    image : tensor_like
        Of shape [..., height, width, channels] and any real type.

    Returns
    -------
    Tensor
        float32, of the shape of `image`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.image.per_image_standardization(tw.constant([[[1.0], [3.0]]]))).squeeze()
    array([-1.,  1.], dtype=float32)
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = math_ops.cast(convert_to_tensor(image, name="image"), dtypes.float32)
        axes = [-1, -2, -3]
        count = math_ops.reduce_prod(array_ops.shape(image)[-3:])
        mean = math_ops.reduce_mean(image, axes, keepdims=True)
        variance = math_ops.reduce_mean(apply("SquaredDifference", [image, mean]), axes, keepdims=True)
        least = apply("Rsqrt", [math_ops.cast(count, dtypes.float32)])
        return math_ops.div(image - mean, apply("Maximum", [apply("Sqrt", [variance]), least]), name=scope)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """One channel, as bright as the three look."""
    with name_scope(name, "rgb_to_grayscale", [images]):
        images = convert_to_tensor(images, name="images")
        weights = constant([0.2989, 0.5870, 0.1140], dtypes.float32)
        return _in_floats(images, lambda x: math_ops.reduce_sum(x * math_ops.cast(weights, x.dtype.base_dtype), [-1],
                                                                 keepdims=True))


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """The channel three times."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims is None:
            ones = array_ops.ones(array_ops.expand_dims(array_ops.rank(images) - 1, 0), dtypes.int32)
            return array_ops.tile(images, array_ops.concat([ones, [3]], 0), name=scope)
        return array_ops.tile(images, [1] * (images.shape.ndims - 1) + [3], name=scope)


_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _turned(images, matrix):
    images = convert_to_tensor(images, name="images")
    return math_ops.tensordot(images, convert_to_tensor(np.array(matrix), dtype=images.dtype), [[images.shape.ndims - 1], [0]])


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Brightness and two colors, as NTSC has them."""
    return _turned(images, _YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """The image of YIQ, [..., 3] and of a floating type, as RGB."""
    return _turned(images, _FROM_YIQ)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Brightness and two colors, as PAL has them."""
    return _turned(images, _YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """The image of YUV, [..., 3] and of a floating type, as RGB."""
    return _turned(images, _FROM_YUV)
