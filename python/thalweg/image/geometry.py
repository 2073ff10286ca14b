# SPDX-License-Identifier: Apache-2.0
"""Images that are flipped, turned, resized, cut and padded. A batch is [batch, rows, columns, channels], one image [rows, columns,
channels]."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.control_flow import case, cond
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.graph.tensor_util import constant_value
from thalweg.operations import array_ops, checks, math_ops, random_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.base.typing import IntLike, IntsLike, TensorLike
    from thalweg.graph.tensor import Tensor


class ResizeMethod:
    """How resize_images() finds the elements of images of another size."""
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)


def image_rank(image: TensorLike) -> int:
    """3 or 4. What nothing is known of is taken for one image, as in TensorFlow."""
    rank = image.shape.ndims
    if rank is None:
        return 3
    if rank not in (3, 4):
        raise ValueError(f"'images' must have either 3 or 4 dimensions, got shape {image.shape}")
    return rank


def _flipped(image, axis, name):
    with name_scope(None, name, [image]):
        image = convert_to_tensor(image, name="image")
        return array_ops.reverse(image, [axis + image_rank(image) - 3])


def flip_left_right(image: TensorLike) -> Tensor:
    """The image as a mirror shows it.

    Parameters
    ----------
    image : tensor_like
        Of shape [batch, height, width, channels] or [height, width, channels].

    Returns
    -------
    Tensor
        Of the type and shape of `image`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.image.flip_left_right(tw.constant([[[1], [2]]]))).squeeze()
    array([2, 1], dtype=int32)
    """
    return _flipped(image, 1, "flip_left_right")


def flip_up_down(image: TensorLike) -> Tensor:
    """The image upside down.

    Parameters
    ----------
    image : tensor_like
        Of shape [batch, height, width, channels] or [height, width, channels].

    Returns
    -------
    Tensor
        Of the type and shape of `image`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.image.flip_up_down(tw.constant([[[1]], [[2]]]))).squeeze()
    array([2, 1], dtype=int32)
    """
    return _flipped(image, 0, "flip_up_down")


def _perhaps_flipped(image, axis, seed, name):
    with name_scope(None, name, [image]) as scope:
        image = convert_to_tensor(image, name="image")
        if image_rank(image) == 3:
            chance = random_ops.random_uniform([], 0, 1.0, seed=seed)
            made = cond(apply("Less", [chance, 0.5]), lambda: array_ops.reverse(image, [axis]), lambda: image, name=scope)
            made.set_shape(image.shape)
            return made
        count = array_ops.shape(image)[0]
        chances = random_ops.random_uniform(array_ops.reshape(count, [1]), 0, 1.0, seed=seed)
        flips = apply("Round", [array_ops.reshape(chances, [-1, 1, 1, 1])])
        flips = math_ops.cast(flips, image.dtype.base_dtype)
        return flips * array_ops.reverse(image, [axis + 1]) + (1 - flips) * image


def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """The image, with a chance of one half as a mirror shows it.

    Parameters
    ----------
    image : tensor_like
        Of shape [batch, height, width, channels] or [height, width, channels].
    seed : int, optional
        Seed of the choice.

    Returns
    -------
    Tensor
        Of the type and shape of `image`; images of a batch are chosen one by one.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     flipped = tw.image.random_flip_left_right(tw.constant([[[1], [2]]]))
    ...     sess.run(flipped).squeeze().tolist() in ([1, 2], [2, 1])
    True
    """
    return _perhaps_flipped(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Flipped with a chance of one half."""
    return _perhaps_flipped(image, 0, seed, "random_flip_up_down")


def transpose_image(image: TensorLike, name: str | None = None) -> Tensor:
    """Rows for columns."""
    image = convert_to_tensor(image, name="image")
    return array_ops.transpose(image, [1, 0, 2] if image_rank(image) == 3 else [0, 2, 1, 3], name=name or "transpose_image")


transpose = transpose_image


def rot90(image: TensorLike, k: IntLike = 1, name: str | None = None) -> Tensor:
    """Turned k times by 90 degrees, against the clock."""
    with name_scope(name, "rot90", [image]):
        image = convert_to_tensor(image, name="image")
        first = image_rank(image) - 3
        if hasattr(k, "graph"):
            turns = [lambda n=n: rot90(image, n) for n in range(4)]
            k = apply("FloorMod", [k, 4])
            return case([(math_ops.equal(k, n), turns[n]) for n in (1, 2, 3)], default=turns[0], exclusive=True)
        turned = {0: lambda: image, 1: lambda: transpose_image(array_ops.reverse(image, [first + 1])),
                  2: lambda: array_ops.reverse(image, [first, first + 1]),
                  3: lambda: array_ops.reverse(transpose_image(image), [first + 1])}
        return turned[int(k) % 4]()


def _sizes(image):
    """(rows, columns), numbers where they are known."""
    first = image_rank(image) - 3
    static, dynamic = image.shape.as_list() if image.shape.ndims is not None else [None] * 3, None
    found = []
    for axis in (first, first + 1):
        if static[axis] is None and dynamic is None:
            dynamic = array_ops.shape(image)
        found.append(static[axis] if static[axis] is not None else dynamic[axis])
    return found


def resized(images: TensorLike, size: IntsLike, preserve_aspect_ratio: bool, change: Callable[[Tensor, Tensor], Tensor],
            skip_same: bool = False) -> Tensor:
    """change(batch, size) of an image or a batch. skip_same: not where that is its size already."""
    images = convert_to_tensor(images, name="images")
    if images.shape.ndims is None:
        raise ValueError("'images' contains no shape.")
    one = image_rank(images) == 3
    batch = array_ops.expand_dims(images, 0) if one else images
    size = convert_to_tensor(size, dtype=dtypes.int32, name="size")
    if size.shape.ndims not in (None, 1) or size.shape.ndims == 1 and size.shape._size(0) not in (None, 2):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if preserve_aspect_ratio:
        rows, columns = (math_ops.cast(s, dtypes.float32) for s in _sizes(images))
        wanted = math_ops.cast(size, dtypes.float32)
        scale = apply("Minimum", [wanted[0] / rows, wanted[1] / columns])
        size = math_ops.cast(math_ops.round_(array_ops.stack([scale * rows, scale * columns])), dtypes.int32)
    known = constant_value(size)
    if skip_same and known is not None and list(known) == batch.shape.as_list()[1:3]:
        return images
    made = change(batch, size)
    return array_ops.squeeze(made, [0]) if one else made


def resize_images(images: TensorLike, size: IntsLike, method: int | str = ResizeMethod.BILINEAR, align_corners: bool = False,
                  preserve_aspect_ratio: bool = False, name: str | None = None) -> Tensor:
    """Images of another size.

    Parameters
    ----------
    images : tensor_like
        Of shape [batch, height, width, channels] or [height, width, channels].
    size : tensor_like
        The new height and width, int32.
    method : int
        Of ResizeMethod: BILINEAR, NEAREST_NEIGHBOR, BICUBIC or AREA.
    align_corners : bool
        Whether the centers of the corners stay where they are.
    preserve_aspect_ratio : bool
        Whether images grow no further than their shape allows within `size`.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        float32, or the type of `images` with NEAREST_NEIGHBOR or where nothing changes.

    Raises
    ------
    ValueError
        If the rank of `images` is not known, `size` has not two elements, or there is no such method.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     image = tw.constant([[[1.0], [2.0]]])
    ...     sess.run(tw.image.resize_images(image, [1, 4], tw.image.ResizeMethod.NEAREST_NEIGHBOR)).squeeze()
    array([1., 1., 2., 2.], dtype=float32)
    """
    def change(batch: Tensor, size: Tensor) -> Tensor:
        if callable(method):
            return method(batch, size)
        op = {0: "ResizeBilinear", 1: "ResizeNearestNeighbor", 2: "ResizeBicubic", 3: "ResizeArea"}.get(method)
        if op is None:
            raise ValueError("Resize method is not implemented.")
        return apply(op, [batch, size], {"align_corners": align_corners})
    with name_scope(name, "resize", [images, size]):
        return resized(images, size, preserve_aspect_ratio, change, skip_same=True)


resize = resize_images


def crop_to_bounding_box(image: TensorLike, offset_height: IntLike, offset_width: IntLike, target_height: IntLike,
                         target_width: IntLike) -> Tensor:
    """A part of the image."""
    with name_scope(None, "crop_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        first = image_rank(image) - 3
        rows, columns = _sizes(image)
        held = []
        for offset, target, size, what in ((offset_width, target_width, columns, "width"),
                                           (offset_height, target_height, rows, "height")):
            if any(hasattr(v, "graph") for v in (offset, target, size)):
                held.append(checks.Assert(size >= target + offset, [f"{what} must be >= target + offset."]))
                continue
            if offset < 0 or target <= 0:
                raise ValueError(f"offset_{what} must be >= 0 and target_{what} must be > 0.")
            if offset + target > size:
                raise ValueError(f"{what} must be >= target + offset.")
        if held:
            image = checks.with_dependencies(held, image)
        begin, size = [0] * first + [offset_height, offset_width, 0], [-1] * first + [target_height, target_width, -1]
        return array_ops.slice_(image, array_ops.stack(begin), array_ops.stack(size))


def pad_to_bounding_box(image: TensorLike, offset_height: IntLike, offset_width: IntLike, target_height: IntLike,
                        target_width: IntLike) -> Tensor:
    """The image at a place of a larger, black one."""
    with name_scope(None, "pad_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        first = image_rank(image) - 3
        rows, columns = _sizes(image)
        below, right = target_height - offset_height - rows, target_width - offset_width - columns
        for value, what in ((offset_height, "offset_height must be >= 0"), (offset_width, "offset_width must be >= 0"),
                            (below, "height must be <= target - offset"), (right, "width must be <= target - offset")):
            if not hasattr(value, "graph") and value < 0:
                raise ValueError(what)
        around = [[0, 0]] * first + [[offset_height, below], [offset_width, right], [0, 0]]
        return array_ops.pad(image, array_ops.stack([array_ops.stack(pair) for pair in around]))


def resize_image_with_crop_or_pad(image: TensorLike, target_height: IntLike, target_width: IntLike) -> Tensor:
    """The middle of the image, with black around where it is too small.

    Parameters
    ----------
    image : tensor_like
        Of shape [batch, height, width, channels] or [height, width, channels].
    target_height, target_width : int or Tensor
        The new height and width.

    Returns
    -------
    Tensor
        Of the type of `image`.

    Raises
    ------
    ValueError
        If a target is not above 0.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.image.resize_image_with_crop_or_pad(tw.constant([[[1], [2], [3]]]), 1, 1)).squeeze()
    array(2, dtype=int32)
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = convert_to_tensor(image, name="image")

        def largest(a, b):
            return apply("Maximum", [a, b]) if hasattr(a, "graph") or hasattr(b, "graph") else max(a, b)

        def least(a, b):
            return apply("Minimum", [a, b]) if hasattr(a, "graph") or hasattr(b, "graph") else min(a, b)
        for target in (target_height, target_width):
            if not hasattr(target, "graph") and target <= 0:
                raise ValueError("target_width and target_height must be > 0.")
        rows, columns = _sizes(image)
        image = crop_to_bounding_box(image, largest(-(target_height - rows) // 2, 0), largest(-(target_width - columns) // 2, 0),
                                     least(target_height, rows), least(target_width, columns))
        return pad_to_bounding_box(image, largest((target_height - rows) // 2, 0), largest((target_width - columns) // 2, 0),
                                   target_height, target_width)


resize_with_crop_or_pad = resize_image_with_crop_or_pad


def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """The middle of the image, this share of each side."""
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        found = []
        for size in _sizes(image):
            if hasattr(size, "graph"):
                exact = math_ops.cast(size, dtypes.float64)
                start = math_ops.cast((exact - exact * central_fraction) / 2, dtypes.int32)
            else:
                start = int((size - size * central_fraction) / 2)
            found.append((start, size - start * 2))
        (top, rows), (left, columns) = found
        return crop_to_bounding_box(image, top, left, rows, columns)


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether bytes begin as JPEG files do."""
    with name_scope(name, "is_jpeg"):
        return math_ops.equal(apply("Substr", [contents, 0, 3]), constant(b"\xff\xd8\xff"), name=name)


def padded_to(image: TensorLike, target_height: IntLike, target_width: IntLike,
              change: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """change(batch, size) to the largest size that fits, with black bars."""
    image = convert_to_tensor(image, name="image")
    one = image_rank(image) == 3
    batch = array_ops.expand_dims(image, 0) if one else image
    if image.shape.ndims is None:
        batch.set_shape([None] * 4)
    for target, what in ((target_width, "target_width"), (target_height, "target_height")):
        if not hasattr(target, "graph") and target <= 0:
            raise ValueError(f"{what} must be > 0.")
    rows, columns = (math_ops.cast(s, dtypes.float32) for s in _sizes(batch))
    wide, high = math_ops.cast(target_width, dtypes.float32), math_ops.cast(target_height, dtypes.float32)
    ratio = apply("Maximum", [columns / wide, rows / high])
    sizes = [(rows / ratio, high), (columns / ratio, wide)]
    around = [apply("Maximum", [0, math_ops.cast(apply("Floor", [(target - size) / 2.0]), dtypes.int32)])
              for size, target in sizes]
    size = array_ops.stack([math_ops.cast(apply("Floor", [size]), dtypes.int32) for size, _ in sizes])
    made = pad_to_bounding_box(change(batch, size), around[0], around[1], target_height, target_width)
    made.set_shape([batch.shape._size(0), *(None if hasattr(t, "graph") else t for t in (target_height, target_width)),
                    batch.shape._size(3)])
    return array_ops.squeeze(made, [0]) if one else made


def resize_image_with_pad(image: TensorLike, target_height: IntLike, target_width: IntLike, method: int | str = 0,
                          align_corners: bool = False) -> Tensor:
    """The image as large as fits, with black bars."""
    with name_scope(None, "resize_image_with_pad", [image]):
        return padded_to(image, target_height, target_width, lambda batch, size: resize_images(batch, size, method, align_corners))
