# SPDX-License-Identifier: Apache-2.0
"""Images: tw.image. A batch is [batch, rows, columns, channels], one image [rows, columns, channels]."""
import numpy as np

from thalweg import array_ops, dtypes, math_ops, names, random_ops
from thalweg.control_flow import cond
from thalweg.graph import name_scope
from thalweg.ops import apply, constant, convert_to_tensor


class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)


def _rank(image):
    rank = image.shape.ndims
    if rank not in (3, 4):
        raise ValueError(f"'image' must have either 3 or 4 dimensions, got shape {image.shape}")
    return rank


def _largest(dtype):
    return np.iinfo(dtype.as_numpy_dtype).max


# ---- element types ----
def convert_image_dtype(image, dtype, saturate=False, name=None):
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


# ---- light and colour ----
def adjust_brightness(image, delta):
    """delta added, in the scale of floats."""
    with name_scope(None, "adjust_brightness", [image, delta]):
        image = convert_to_tensor(image, name="image")
        return _in_floats(image, lambda x: x + math_ops.cast(delta, x.dtype.base_dtype))


def random_brightness(image, max_delta, seed=None):
    """A random delta between -max_delta and max_delta added."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_ops.random_uniform([], -max_delta, max_delta, seed=seed))


def adjust_contrast(images, contrast_factor):
    """Each channel stretched about its mean."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]):
        images = convert_to_tensor(images, name="images")

        def stretch(x):
            mean = math_ops.reduce_mean(x, [-3, -2], keepdims=True)
            return (x - mean) * math_ops.cast(contrast_factor, x.dtype.base_dtype) + mean
        return _in_floats(images, stretch)


def random_contrast(image, lower, upper, seed=None):
    """adjust_contrast by a random factor."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_contrast(image, random_ops.random_uniform([], lower, upper, seed=seed))


def adjust_gamma(image, gamma=1, gain=1):
    """gain * image ** gamma."""
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        if not hasattr(gamma, "graph") and gamma < 0:
            raise ValueError("Gamma should be a non-negative real number.")
        return _in_floats(convert_to_tensor(image), lambda x: gain * x ** gamma)


def adjust_hue(image, delta, name=None):
    """The hue of RGB turned by delta."""
    with name_scope(name, "adjust_hue", [image]):
        return _in_floats(convert_to_tensor(image), lambda x: apply("AdjustHue", [x, delta]))


def adjust_saturation(image, saturation_factor, name=None):
    """The saturation of RGB times a factor."""
    with name_scope(name, "adjust_saturation", [image]):
        return _in_floats(convert_to_tensor(image), lambda x: apply("AdjustSaturation", [x, saturation_factor]))


def random_hue(image, max_delta, seed=None):
    if max_delta > 0.5 or max_delta < 0:
        raise ValueError("max_delta must be between 0 and 0.5.")
    return adjust_hue(image, random_ops.random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image, lower, upper, seed=None):
    if upper <= lower or lower < 0:
        raise ValueError("upper must be > lower, and lower must be non-negative.")
    return adjust_saturation(image, random_ops.random_uniform([], lower, upper, seed=seed))


def per_image_standardization(image):
    """Each image with mean 0 and variance 1, or less where it is all of one colour."""
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = math_ops.cast(convert_to_tensor(image, name="image"), dtypes.float32)
        axes = [-1, -2, -3]
        count = math_ops.reduce_prod(array_ops.shape(image)[-3:])
        mean = math_ops.reduce_mean(image, axes, keepdims=True)
        variance = math_ops.reduce_mean(apply("SquaredDifference", [image, mean]), axes, keepdims=True)
        least = apply("Rsqrt", [math_ops.cast(count, dtypes.float32)])
        return math_ops.div(image - mean, apply("Maximum", [apply("Sqrt", [variance]), least]), name=scope)


def rgb_to_grayscale(images, name=None):
    """One channel, as bright as the three look."""
    with name_scope(name, "rgb_to_grayscale", [images]):
        images = convert_to_tensor(images, name="images")
        weights = constant([0.2989, 0.5870, 0.1140], dtypes.float32)
        return _in_floats(images, lambda x: math_ops.reduce_sum(x * math_ops.cast(weights, x.dtype.base_dtype), [-1],
                                                                 keepdims=True))


def grayscale_to_rgb(images, name=None):
    """The channel three times."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        return array_ops.tile(images, [1] * (images.shape.ndims - 1) + [3], name=scope)


def total_variation(images, name=None):
    """The sum of absolute differences between neighbours, for each image."""
    with name_scope(name, "total_variation"):
        rank = _rank(images)
        down = images[..., 1:, :, :] - images[..., :-1, :, :]
        right = images[..., :, 1:, :] - images[..., :, :-1, :]
        axes = None if rank == 3 else [1, 2, 3]
        return sum(math_ops.reduce_sum(math_ops.abs_(d), axes) for d in (down, right))


# ---- turned and mirrored ----
def _flipped(image, axis, name):
    with name_scope(None, name, [image]):
        image = convert_to_tensor(image, name="image")
        return array_ops.reverse(image, [axis + _rank(image) - 3])


def flip_left_right(image):
    return _flipped(image, 1, "flip_left_right")


def flip_up_down(image):
    return _flipped(image, 0, "flip_up_down")


def _perhaps_flipped(image, axis, seed, name):
    with name_scope(None, name, [image]) as scope:
        image = convert_to_tensor(image, name="image")
        if _rank(image) == 3:
            chance = random_ops.random_uniform([], 0, 1.0, seed=seed)
            made = cond(apply("Less", [chance, 0.5]), lambda: array_ops.reverse(image, [axis]), lambda: image, name=scope)
            made.set_shape(image.shape)
            return made
        count = array_ops.shape(image)[0]
        chances = random_ops.random_uniform(array_ops.reshape(count, [1]), 0, 1.0, seed=seed)
        flips = apply("Round", [array_ops.reshape(chances, [-1, 1, 1, 1])])
        flips = math_ops.cast(flips, image.dtype.base_dtype)
        return flips * array_ops.reverse(image, [axis + 1]) + (1 - flips) * image


def random_flip_left_right(image, seed=None):
    """Flipped with a chance of one half."""
    return _perhaps_flipped(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image, seed=None):
    """Flipped with a chance of one half."""
    return _perhaps_flipped(image, 0, seed, "random_flip_up_down")


def transpose_image(image, name=None):
    """Rows for columns."""
    image = convert_to_tensor(image, name="image")
    return array_ops.transpose(image, [1, 0, 2] if _rank(image) == 3 else [0, 2, 1, 3], name=name or "transpose_image")


transpose = transpose_image


def rot90(image, k=1, name=None):
    """Turned k times by 90 degrees, against the clock."""
    with name_scope(name, "rot90", [image]):
        image = convert_to_tensor(image, name="image")
        first = _rank(image) - 3
        if hasattr(k, "graph"):
            turns = [lambda n=n: rot90(image, n) for n in range(4)]
            from thalweg.control_flow import case
            k = apply("FloorMod", [k, 4])
            return case([(math_ops.equal(k, n), turns[n]) for n in (1, 2, 3)], default=turns[0], exclusive=True)
        turned = {0: lambda: image, 1: lambda: transpose_image(array_ops.reverse(image, [first + 1])),
                  2: lambda: array_ops.reverse(image, [first, first + 1]),
                  3: lambda: array_ops.reverse(transpose_image(image), [first + 1])}
        return turned[int(k) % 4]()


# ---- sizes ----
def _sizes(image):
    """(rows, columns), numbers where they are known."""
    first = _rank(image) - 3
    static, dynamic = image.shape.as_list(), None
    found = []
    for axis in (first, first + 1):
        if static[axis] is None and dynamic is None:
            dynamic = array_ops.shape(image)
        found.append(static[axis] if static[axis] is not None else dynamic[axis])
    return found


def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False, preserve_aspect_ratio=False, name=None):
    """Images of another size, [rows, columns]."""
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        one = _rank(images) == 3
        batch = array_ops.expand_dims(images, 0) if one else images
        from thalweg.tensor_util import constant_value
        size = convert_to_tensor(size, dtype=dtypes.int32, name="size")
        if size.shape.ndims not in (None, 1) or size.shape.ndims == 1 and size.shape[0].value not in (None, 2):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            rows, columns = (math_ops.cast(s, dtypes.float32) for s in _sizes(images))
            wanted = math_ops.cast(size, dtypes.float32)
            scale = apply("Minimum", [wanted[0] / rows, wanted[1] / columns])
            size = math_ops.cast(math_ops.round_(array_ops.stack([scale * rows, scale * columns])), dtypes.int32)
        known = constant_value(size)
        if known is not None and list(known) == batch.shape.as_list()[1:3]:
            return images
        if callable(method):
            made = method(batch, size)
        else:
            op = {0: "ResizeBilinear", 1: "ResizeNearestNeighbor", 2: "ResizeBicubic", 3: "ResizeArea"}.get(method)
            if op is None:
                raise ValueError("Resize method is not implemented.")
            made = apply(op, [batch, size], {"align_corners": align_corners})
        return array_ops.squeeze(made, [0]) if one else made


resize = resize_images


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """A part of the image."""
    with name_scope(None, "crop_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        first = _rank(image) - 3
        rows, columns = _sizes(image)
        for offset, target, size, what in ((offset_height, target_height, rows, "height"),
                                           (offset_width, target_width, columns, "width")):
            if not any(hasattr(v, "graph") for v in (offset, target, size)):
                if offset < 0 or target <= 0:
                    raise ValueError(f"offset_{what} must be >= 0 and target_{what} must be > 0.")
                if offset + target > size:
                    raise ValueError(f"{what} must be >= target + offset.")
        begin, size = [0] * first + [offset_height, offset_width, 0], [-1] * first + [target_height, target_width, -1]
        return array_ops.slice_(image, array_ops.stack(begin), array_ops.stack(size))


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The image at a place of a larger, black one."""
    with name_scope(None, "pad_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        first = _rank(image) - 3
        rows, columns = _sizes(image)
        below, right = target_height - offset_height - rows, target_width - offset_width - columns
        for value, what in ((offset_height, "offset_height must be >= 0"), (offset_width, "offset_width must be >= 0"),
                            (below, "height must be <= target - offset"), (right, "width must be <= target - offset")):
            if not hasattr(value, "graph") and value < 0:
                raise ValueError(what)
        around = [[0, 0]] * first + [[offset_height, below], [offset_width, right], [0, 0]]
        return array_ops.pad(image, array_ops.stack([array_ops.stack(pair) for pair in around]))


def resize_image_with_crop_or_pad(image, target_height, target_width):
    """The middle of the image, with black around where it is too small."""
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


def central_crop(image, central_fraction):
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


def is_jpeg(contents, name=None):
    """Whether bytes begin as JPEG files do."""
    with name_scope(name, "is_jpeg"):
        return math_ops.equal(apply("Substr", [contents, 0, 3]), constant(b"\xff\xd8\xff"), name=name)


def image_gradients(image):
    """(differences down, differences to the right), the last ones zero."""
    if image.shape.ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    down = array_ops.concat([image[:, 1:] - image[:, :-1], array_ops.zeros_like(image[:, :1])], 1)
    right = array_ops.concat([image[:, :, 1:] - image[:, :, :-1], array_ops.zeros_like(image[:, :, :1])], 2)
    return down, right


from thalweg.image_more import (crop_and_resize, draw_bounding_boxes, extract_glimpse, extract_patches,  # noqa: E402, F401
                                non_max_suppression, non_max_suppression_overlaps, non_max_suppression_padded,
                                non_max_suppression_with_scores, psnr, resize_image_with_pad, rgb_to_yiq, rgb_to_yuv, sobel_edges,
                                ssim, ssim_multiscale, yiq_to_rgb, yuv_to_rgb)

names.complete(globals())
