# SPDX-License-Identifier: Apache-2.0
"""Projective maps of images.

A map is eight numbers a0 to a7: the pixel at (x, y) of the result is that of the image at ((a0 x + a1 y + a2) / k,
(a3 x + a4 y + a5) / k), with k = a6 x + a7 y + 1. As a matrix, [3, 3], its last number is 1.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import IntsLike, TensorLike
    from thalweg.graph.tensor import Tensor

_TYPES = (dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64)


def _batch_of(images, what="image_or_images"):
    """The images as [batch, rows, columns, channels]."""
    rank = images.shape.ndims
    if rank is None:
        raise TypeError(f"{what} rank must be statically known")
    if rank == 2:
        return images[None, :, :, None]
    if rank == 3:
        return images[None]
    if rank == 4:
        return images
    raise TypeError("Images should have rank between 2 and 4.")


def transform(images: TensorLike, transforms: TensorLike, interpolation: str = "NEAREST", output_shape: IntsLike | None = None,
              name: str | None = None) -> Tensor:
    """Images seen through projective maps, black where those lead out of them.

    Parameters
    ----------
    images : tensor_like
        Of shape [rows, columns], [rows, columns, channels] or [batch, rows, columns, channels]; uint8, int32, int64 or floats.
    transforms : tensor_like
        float32 [8], for all images, or [batch, 8]: see the module.
    interpolation : str
        "NEAREST" or "BILINEAR".
    output_shape : tensor_like, optional
        int32 [2]: rows and columns of the result. Those of the images where it is left out.
    name : str, optional
        Of the operations.

    Returns
    -------
    Tensor
        Of the type and rank of `images`. The gradient is seen through the inverse maps.

    Raises
    ------
    TypeError
        The images have another type, or another rank than 2 to 4, or the maps another than 1 or 2.
    ValueError
        `output_shape` has not two elements.

    Examples
    --------
    >>> image = tw.constant([[1., 2.], [3., 4.]])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.contrib.image.transform(image, [1, 0, 1, 0, 1, 0, 0, 0])).tolist())  # one to the left
    [[2.0, 0.0], [4.0, 0.0]]
    """
    with name_scope(name, "transform"):
        given = convert_to_tensor(images, name="images")
        maps = convert_to_tensor(transforms, dtypes.float32, name="transforms")
        if given.dtype.base_dtype not in _TYPES:
            raise TypeError(f"Invalid dtype <dtype: '{given.dtype.name}'>.")
        batch = _batch_of(given)
        if output_shape is None:
            size = batch.shape[1:3] if batch.shape[1:3].is_fully_defined() else array_ops.shape(batch)[1:3]
        else:
            size = output_shape
        size = convert_to_tensor(size.as_list() if hasattr(size, "as_list") else size, dtypes.int32, name="output_shape")
        if not size.shape.is_compatible_with([2]):
            raise ValueError("output_shape must be a 1-D Tensor of 2 elements: new_height, new_width")
        rank = maps.shape.ndims
        if rank is None:
            raise TypeError("transforms rank must be statically known")
        if rank not in (1, 2):
            raise TypeError("Transforms should have rank 1 or 2.")
        made = apply("ImageProjectiveTransformV2", [batch, maps[None] if rank == 1 else maps, size],
                     {"interpolation": interpolation.upper()})
        if given.shape.ndims == 2:
            return made[0, :, :, 0]
        return made[0] if given.shape.ndims == 3 else made


def rotate(images: TensorLike, angles: TensorLike, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Images turned about their middles, counterclockwise: `angles` (radians) [] or [batch]. See `transform`."""
    with name_scope(name, "rotate"):
        images = convert_to_tensor(images, name="images")
        size = array_ops.shape(_batch_of(images))
        height, width = math_ops.cast(size[1], dtypes.float32), math_ops.cast(size[2], dtypes.float32)
        return transform(images, angles_to_projective_transforms(angles, height, width), interpolation)


def translate(images: TensorLike, translations: TensorLike, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Images moved by `translations`, [dx, dy] or [batch, 2]. See `transform`."""
    with name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def angles_to_projective_transforms(angles: TensorLike, image_height: TensorLike, image_width: TensorLike,
                                    name: str | None = None) -> Tensor:
    """The maps [batch, 8] that turn images of this size about their middles by `angles`, [] or [batch]."""
    with name_scope(name, "angles_to_projective_transforms"):
        turns = convert_to_tensor(angles, dtypes.float32, name="angles")
        rank = turns.shape.ndims
        if rank is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        if rank not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        if rank == 0:
            turns = turns[None]
        right, bottom = (math_ops.cast(convert_to_tensor(x), dtypes.float32) - 1 for x in (image_width, image_height))
        cos, sin = apply("Cos", [turns]), apply("Sin", [turns])
        x = (right - (cos * right - sin * bottom)) / 2
        y = (bottom - (sin * right + cos * bottom)) / 2
        nothing = array_ops.zeros_like(turns)
        return array_ops.stack([cos, -sin, x, sin, cos, y, nothing, nothing], axis=1)


def translations_to_projective_transforms(translations: TensorLike, name: str | None = None) -> Tensor:
    """The maps [batch, 8] that move images by `translations`, [dx, dy] or [batch, 2]."""
    with name_scope(name, "translations_to_projective_transforms"):
        moves = convert_to_tensor(translations, dtypes.float32, name="translations")
        rank = moves.shape.ndims
        if rank is None:
            raise TypeError("translation_or_translations rank must be statically known")
        if rank not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        if rank == 1:
            moves = moves[None]
        x, y = moves[:, 0], moves[:, 1]
        one, nothing = array_ops.ones_like(x), array_ops.zeros_like(x)
        return array_ops.stack([one, nothing, -x, nothing, one, -y, nothing, nothing], axis=1)


def flat_transforms_to_matrices(transforms: TensorLike) -> Tensor:
    """Maps [8] or [batch, 8] as matrices [batch, 3, 3]."""
    with name_scope("flat_transforms_to_matrices"):
        maps = convert_to_tensor(transforms, dtypes.float32, name="transforms")
        if maps.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {maps}")
        maps = array_ops.reshape(maps, [-1, 8])
        return array_ops.reshape(array_ops.concat([maps, array_ops.ones_like(maps[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: TensorLike) -> Tensor:
    """Matrices [3, 3] or [batch, 3, 3] as maps [batch, 8]."""
    with name_scope("matrices_to_flat_transforms"):
        matrices = convert_to_tensor(transform_matrices, dtypes.float32, name="matrices")
        if matrices.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {matrices}")
        maps = array_ops.reshape(matrices, [-1, 9])
        return (maps / maps[:, 8:])[:, :8]


def compose_transforms(*transforms: TensorLike) -> Tensor:
    """The maps [batch, 8] of which a point takes the last of `transforms` first; each is [8] or [batch, 8]."""
    if not transforms:
        raise AssertionError("transforms cannot be empty")
    with name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for following in transforms[1:]:
            composed = math_ops.matmul(composed, flat_transforms_to_matrices(following))
        return matrices_to_flat_transforms(composed)
