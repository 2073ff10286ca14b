# SPDX-License-Identifier: Apache-2.0
"""Cases of tf.compat.v2.image: see symbol_cases.py."""
import numpy as np
from symbol_cases import CASES, fails

IMAGE = (np.arange(2 * 5 * 6 * 2) * 37 % 251).astype(np.float32).reshape(2, 5, 6, 2) / 251
BYTES = (IMAGE[0] * 255).astype(np.uint8)
METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")


def resized(tf, **options):
    return [tf.compat.v2.image.resize(IMAGE, size, method, **options) for method in METHODS for size in ([3, 4], [8, 7])]


def slopes(tf, **options):
    image = tf.constant(IMAGE)
    return [tf.gradients(tf.square(tf.compat.v2.image.resize(image, [3, 4], method, **options)), [image])[0]
            for method in ("bilinear", "bicubic", "lanczos3", "mitchellcubic")]


CASES.update(
    compat__v2__image__resize=lambda tf: resized(tf) + [
        tf.compat.v2.image.resize(BYTES, [7, 3]), tf.compat.v2.image.resize(BYTES, [5, 6]), tf.compat.v2.image.resize(BYTES, [2, 2], "nearest"),
        tf.compat.v2.image.ResizeMethod.LANCZOS3, fails(tf, lambda: tf.compat.v2.image.resize(BYTES, [2, 2], "none"))],
    compat__v2__image__resize___smoothed=lambda tf: resized(tf, antialias=True),
    compat__v2__image__resize___in_proportion=lambda tf: [
        tf.compat.v2.image.resize(BYTES, [3, 9], preserve_aspect_ratio=True), tf.compat.v2.image.resize(IMAGE, [9, 9], "lanczos5", True, True)],
    compat__v2__image__resize___gradients=lambda tf: slopes(tf) + slopes(tf, antialias=True),
    compat__v2__image__resize_with_pad=lambda tf: [
        tf.compat.v2.image.resize_with_pad(BYTES, 9, 4), tf.compat.v2.image.resize_with_pad(IMAGE, 4, 9, "lanczos3", True)],
    compat__v2__image__extract_glimpse=lambda tf: [
        tf.compat.v2.image.extract_glimpse(IMAGE, [2, 3], [[0.1, -0.2], [0.3, 0.1]])],
    compat__v2__image__crop_and_resize=lambda tf: [tf.compat.v2.image.crop_and_resize(IMAGE, [[0.1, 0.2, 0.7, 0.9]], [1], [3, 2])],
)
