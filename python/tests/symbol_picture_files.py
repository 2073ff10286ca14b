# SPDX-License-Identifier: Apache-2.0
"""Cases of pictures and sounds as files: see symbol_cases.py."""
import numpy as np
from symbol_cases import CASES, fails

Y, X = np.mgrid[0:9, 0:11]
PIXELS = np.stack([127 + 100 * np.sin(Y / (5.0 + c)) * np.cos(X / (7.0 - c)) for c in range(4)], -1).astype(np.uint8)
SOUND = (np.sin(np.arange(60) * 0.3) * 0.9).astype(np.float32).reshape(30, 2)


def jpeg(tf, **options):
    return tf.image.encode_jpeg(PIXELS[..., :3], **options)


def run(tf, *tensors):
    with tf.Session() as session:
        return session.run(list(tensors))


CASES.update(
    image__decode_jpeg=lambda tf: [
        tf.image.decode_jpeg(jpeg(tf)), tf.image.decode_jpeg(jpeg(tf), channels=1, ratio=2),
        tf.image.decode_jpeg(jpeg(tf, quality=50, progressive=True), dct_method="INTEGER_ACCURATE"),
        tf.image.decode_jpeg(jpeg(tf), channels=3).shape.ndims, tf.image.extract_jpeg_shape(jpeg(tf)), tf.image.is_jpeg(jpeg(tf))],
    image__decode_and_crop_jpeg=lambda tf: [
        tf.image.decode_and_crop_jpeg(jpeg(tf), [3, 5, 4, 3]),
        tf.image.decode_and_crop_jpeg(jpeg(tf), [3, 5, 4, 3], channels=3).shape.ndims],
    image__decode_png=lambda tf: [
        tf.image.decode_png(tf.image.encode_png(PIXELS[..., :c]), channels=d) for c in (1, 2, 3, 4) for d in (0, 1, 3, 4)] + [
        tf.image.decode_png(tf.image.encode_png(tf.constant(PIXELS[..., :c].astype(np.uint16) * 199)), dtype=t)
        for c in (1, 3) for t in (tf.uint8, tf.uint16)],
    image__encode_jpeg=lambda tf: [len(f) for f in run(tf, jpeg(tf), jpeg(tf, quality=7), jpeg(tf, xmp_metadata="<x/>"))],
    image__decode_image=lambda tf: [
        tf.image.decode_image(jpeg(tf)), tf.image.decode_image(jpeg(tf), channels=1, expand_animations=False),
        tf.image.decode_image(jpeg(tf), dtype=tf.float32), tf.image.decode_image(jpeg(tf), dtype=tf.uint16),
        tf.image.decode_image(tf.image.encode_png(PIXELS), channels=3), tf.image.decode_image(jpeg(tf), dtype=tf.float16),
        tf.image.decode_image(jpeg(tf)).shape.ndims is None, tf.image.decode_image(jpeg(tf), expand_animations=False).shape.ndims,
        fails(tf, lambda: tf.image.decode_image(jpeg(tf), channels=2))],
    image__adjust_jpeg_quality=lambda tf: [
        tf.image.adjust_jpeg_quality(PIXELS[..., :3], 30), tf.image.adjust_jpeg_quality(PIXELS[..., :1], tf.constant(60)),
        tf.image.adjust_jpeg_quality(PIXELS[..., :3] / np.float32(255), 75)],
    image__random_jpeg_quality=lambda tf: [
        tf.image.random_jpeg_quality(PIXELS[..., :3], 30, 31), fails(tf, lambda: tf.image.random_jpeg_quality(PIXELS[..., :3], 5, 5)),
        fails(tf, lambda: tf.image.random_jpeg_quality(PIXELS[..., :3], -1, 5))],
    audio__decode_wav=lambda tf: [
        *tf.audio.decode_wav(tf.audio.encode_wav(SOUND, 44100)), *tf.audio.decode_wav(tf.audio.encode_wav(SOUND, 8000), 1, 5),
        tf.audio.decode_wav(tf.audio.encode_wav(SOUND, 44100), 3).audio.shape.ndims],
)
