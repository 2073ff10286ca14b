# SPDX-License-Identifier: Apache-2.0
"""Cases of images: see symbol_cases.py."""
import tempfile

import numpy as np
from symbol_cases import CASES, fails, numbers

IMAGE = (np.arange(2 * 4 * 6 * 3) * 37 % 251).astype(np.float32).reshape(2, 4, 6, 3) / 251
LARGE = np.sin(np.arange(2 * 190 * 177 * 1) * 0.37).astype(np.float32).reshape(2, 190, 177, 1) / 2 + 0.5
LIKE = np.clip(LARGE + np.cos(np.arange(LARGE.size) * 0.11).reshape(LARGE.shape).astype(np.float32) * 0.1, 0, 1)
BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]], np.float32)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], np.float32)
OVERLAPS = np.abs(numbers(6, 6)) / 4


def resized(tf, **kwargs):
    return [tf.image.resize_images(IMAGE, size, method=method, **kwargs) for method in range(4) for size in ([2, 3], [7, 5])]


def files(tf):
    with tempfile.TemporaryDirectory() as folder, tf.Session() as session:
        for name in ("b", "a.txt", "c/d"):
            session.run(tf.write_file(folder + "/" + name, "of " + name))
        found = session.run(tf.matching_files([folder + "/*.txt", folder + "/[bx]", folder + "/none*"]))
        missing = fails(tf, lambda: session.run(tf.read_file(folder + "/none")))
        return [[f.decode()[len(folder):] for f in found][0], len(found), tf.constant(session.run(tf.read_file(folder + "/c/d"))),
                missing[0] if isinstance(missing, (list, tuple)) else missing.split(":")[0]]


CASES.update(
    image__resize=lambda tf: resized(tf) + resized(tf, align_corners=True) + resized(tf, preserve_aspect_ratio=True),
    image__resize_area=lambda tf: [tf.image.resize_area(IMAGE, [3, 4])],
    image__resize_bicubic=lambda tf: [tf.image.resize_bicubic(IMAGE, [3, 4], half_pixel_centers=True), tf.gradients(
        tf.image.resize_bicubic(tf.constant(IMAGE), [3, 4]), [tf.constant(IMAGE)])[0] is None],
    image__resize_image_with_pad=lambda tf: [
        tf.image.resize_image_with_pad(IMAGE, 8, 5), tf.image.resize_image_with_pad(IMAGE[0], 3, 9, 2),
        fails(tf, lambda: tf.image.resize_image_with_pad(IMAGE, 0, 5))],
    image__draw_bounding_boxes=lambda tf: [
        tf.image.draw_bounding_boxes(IMAGE, [[[0.1, 0.2, 0.7, 0.9]], [[0.3, 0.1, 0.9, 0.5]]]),
        tf.image.draw_bounding_boxes(IMAGE, [[[0.1, 0.2, 0.7, 0.9]], [[0.3, 0.1, 0.9, 0.5]]], colors=[[0.1, 0.2, 0.3]])],
    image__extract_glimpse=lambda tf: [
        tf.image.extract_glimpse(IMAGE, [2, 3], [[0.1, -0.2], [0.3, 0.1]]),
        tf.image.extract_glimpse(IMAGE, [2, 2], [[2.0, 3.0], [3.0, 2.0]], centered=False, normalized=False)],
    image__extract_patches=lambda tf: [tf.image.extract_patches(IMAGE, [1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1], "VALID")],
    image__crop_and_resize=lambda tf: [
        tf.image.crop_and_resize(IMAGE, [[0.1, 0.2, 0.7, 0.9]], [1], [3, 2]),
        tf.image.crop_and_resize(IMAGE, [[0.1, 0.2, 1.7, 0.9]], box_indices=[1], crop_size=[3, 2], extrapolation_value=0.5)],
    image__non_max_suppression=lambda tf: [
        tf.image.non_max_suppression(BOXES, SCORES, 3), tf.image.non_max_suppression(BOXES, SCORES, 6, 0.9, 0.55),
        *tf.image.non_max_suppression_padded(BOXES, SCORES, 5, pad_to_max_output_size=True),
        *tf.image.non_max_suppression_with_scores(BOXES, SCORES, 6),
        tf.image.non_max_suppression_overlaps(OVERLAPS, SCORES, 4, 0.15)],
    image__color_spaces=lambda tf: [f(IMAGE) for f in (tf.image.rgb_to_yiq, tf.image.yiq_to_rgb, tf.image.rgb_to_yuv,
                                                       tf.image.yuv_to_rgb)],
    image__sobel_edges=lambda tf: [tf.image.sobel_edges(tf.constant(IMAGE))],
    image__psnr=lambda tf: [tf.image.psnr(LARGE, LIKE, 1.0), tf.image.psnr(np.uint8(LARGE * 255), np.uint8(LIKE * 255), 255)],
    image__ssim=lambda tf: [tf.image.ssim(tf.constant(LARGE), tf.constant(LIKE), 1.0),
                            tf.image.ssim(tf.constant(LARGE), tf.constant(LIKE), 1.0, filter_size=7, k1=0.02),
                            fails(tf, lambda: tf.image.ssim(tf.constant(IMAGE), tf.constant(IMAGE), 1.0))],
    image__ssim_multiscale=lambda tf: [tf.image.ssim_multiscale(tf.constant(LARGE), tf.constant(LIKE), 1.0)],
    decode_raw=lambda tf: [tf.decode_raw(["abcd", "efgh"], tf.int16), tf.io.decode_raw("abcd", tf.int32, little_endian=False),
                           tf.parse_tensor(tf.serialize_tensor(IMAGE), tf.float32)],
    read_file=files,
)
