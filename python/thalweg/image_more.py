# SPDX-License-Identifier: Apache-2.0
"""More of tw.image: boxes, glimpses, patches, colour spaces, edges, and how alike two images are."""
import numpy as np

from thalweg import array_layout, array_ops, dtypes, math_ops
from thalweg import image as images_module
from thalweg.graph import name_scope
from thalweg.ops import apply, constant, convert_to_tensor

_NEVER = float("-inf")


# ---- boxes and windows ----
def crop_and_resize(image, boxes, box_ind=None, crop_size=None, method="bilinear", extrapolation_value=0, name=None,
                    box_indices=None):
    """Boxes of images, brought to one size."""
    if (box_ind is None) == (box_indices is None):
        raise ValueError("Must specify exactly one of 'box_indices' and its older name 'box_ind'")
    return apply("CropAndResize", [image, boxes, box_ind if box_indices is None else box_indices, crop_size],
                 {"method": method, "extrapolation_value": extrapolation_value}, name)


def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NEVER, name=None):
    """The boxes with the best scores that do not overlap a better one too much."""
    with name_scope(name, "non_max_suppression") as scope:
        return apply("NonMaxSuppressionV3", [boxes, scores, max_output_size, iou_threshold, score_threshold], {}, scope)


def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NEVER, soft_nms_sigma=0.0,
                                    name=None):
    """(boxes, their scores), where scores go down with what overlaps."""
    with name_scope(name, "non_max_suppression_with_scores") as scope:
        made = apply("NonMaxSuppressionV5", [boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma],
                     {"pad_to_max_output_size": False}, scope)
        return made[0], made[1]


def non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NEVER,
                               pad_to_max_output_size=False, name=None):
    """(boxes, how many of them count): non_max_suppression with a result of fixed size."""
    with name_scope(name, "non_max_suppression_padded") as scope:
        return apply("NonMaxSuppressionV4", [boxes, scores, max_output_size, iou_threshold, score_threshold],
                     {"pad_to_max_output_size": pad_to_max_output_size}, scope)


def non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold=0.5, score_threshold=_NEVER, name=None):
    """non_max_suppression where the overlap of each pair is given."""
    with name_scope(name, "non_max_suppression_overlaps") as scope:
        return apply("NonMaxSuppressionWithOverlaps", [overlaps, scores, max_output_size, overlap_threshold, score_threshold], {},
                     scope)


def draw_bounding_boxes(images, boxes, name=None, colors=None):
    """Images with the frames of boxes, in the given colours or in ten of its own."""
    if colors is None:
        return apply("DrawBoundingBoxes", [images, boxes], {}, name)
    return apply("DrawBoundingBoxesV2", [images, boxes, colors], {}, name)


def extract_glimpse(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):  # noqa: A002
    """Windows of images, with noise where they reach over the edges."""
    return apply("ExtractGlimpse", [input, size, offsets],
                 {"centered": centered, "normalized": normalized, "uniform_noise": uniform_noise}, name)


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Patches side by side in the last dimension."""
    return array_layout.extract_image_patches(images, sizes, strides, rates, padding, name)


def resize_image_with_pad(image, target_height, target_width, method=0, align_corners=False):
    """The image as large as fits, with black bars."""
    with name_scope(None, "resize_image_with_pad", [image]):
        image = convert_to_tensor(image, name="image")
        one = images_module._rank(image) == 3
        batch = array_ops.expand_dims(image, 0) if one else image
        for target, what in ((target_width, "target_width"), (target_height, "target_height")):
            if not hasattr(target, "graph") and target <= 0:
                raise ValueError(f"{what} must be > 0.")
        rows, columns = (math_ops.cast(s, dtypes.float32) for s in images_module._sizes(batch))
        wide, high = math_ops.cast(target_width, dtypes.float32), math_ops.cast(target_height, dtypes.float32)
        ratio = apply("Maximum", [columns / wide, rows / high])
        sizes = [(rows / ratio, high), (columns / ratio, wide)]
        around = [apply("Maximum", [0, math_ops.cast(apply("Floor", [(target - size) / 2.0]), dtypes.int32)])
                  for size, target in sizes]
        size = array_ops.stack([math_ops.cast(apply("Floor", [size]), dtypes.int32) for size, _ in sizes])
        made = images_module.resize_images(batch, size, method, align_corners)
        made = images_module.pad_to_bounding_box(made, around[0], around[1], target_height, target_width)
        made.set_shape([batch.shape[0].value, *(None if hasattr(t, "graph") else t for t in (target_height, target_width)),
                        batch.shape[3].value])
        return array_ops.squeeze(made, [0]) if one else made


# ---- colour spaces ----
_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _turned(images, matrix):
    images = convert_to_tensor(images, name="images")
    return math_ops.tensordot(images, convert_to_tensor(np.array(matrix), dtype=images.dtype), [[images.shape.ndims - 1], [0]])


def rgb_to_yiq(images):
    """Brightness and two colours, as NTSC has them."""
    return _turned(images, _YIQ)


def yiq_to_rgb(images):
    return _turned(images, _FROM_YIQ)


def rgb_to_yuv(images):
    """Brightness and two colours, as PAL has them."""
    return _turned(images, _YUV)


def yuv_to_rgb(images):
    return _turned(images, _FROM_YUV)


# ---- edges and likeness ----
def _each_channel(images, kernel, **attrs):
    """A convolution of [rows, columns, kernels] with each channel."""
    channels = images.shape[-1].value
    filters = array_ops.tile(constant(np.asarray(kernel, np.float32)[:, :, None, :]), [1, 1, channels, 1])
    filters = math_ops.cast(filters, images.dtype.base_dtype)
    return apply("DepthwiseConv2dNative", [images, filters], {"strides": [1, 1, 1, 1], "padding": "VALID", **attrs})


def sobel_edges(image):
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
    return images_module.convert_image_dtype(value, dtypes.float32)


def _pair(a, b, max_val):
    """Both images and the largest value, in floats."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    if not a.shape.is_compatible_with(b.shape):
        raise ValueError(f"Shapes {a.shape} and {b.shape} are incompatible")
    return _in_float32(a), _in_float32(b), _in_float32(math_ops.cast(max_val, a.dtype.base_dtype))


def psnr(a, b, max_val, name=None):
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


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """The structural similarity of each pair of images: 1 where they are the same."""
    with name_scope(None, "SSIM", [img1, img2]):
        a, b, most = _pair(img1, img2, max_val)
        return math_ops.reduce_mean(_ssim_of_channels(a, b, most, filter_size, filter_sigma, k1, k2)[0], [-1])


def ssim_multiscale(img1, img2, max_val, power_factors=(0.0448, 0.2856, 0.3001, 0.2363, 0.1333), filter_size=11, filter_sigma=1.5,
                    k1=0.01, k2=0.03):
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
