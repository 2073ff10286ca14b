# SPDX-License-Identifier: Apache-2.0
"""Pictures and sounds as files: every bit as both releases have it (recorded by tests/golden/pictures/record.py), and the functions of
tw.image and of contrib's audio_ops."""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import thalweg as tw
from thalweg.contrib.framework import audio_ops

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "tests", "golden", "pictures")
spec = importlib.util.spec_from_file_location("record_pictures", os.path.join(FOLDER, "record.py"))
record = importlib.util.module_from_spec(spec)
spec.loader.exec_module(record)

# Where the answer here is another one, on purpose: (releases, operation, file, part of the attributes), patterns.
UNLIKE = [
    ("1.15 2.21", "DecodeWav", "oddpad.wav", ""),  # refused there: a chunk of an odd size, filled up as the format says
    ("1.15 2.21", "Decode.*Jpeg", ".*_(half|less3).jpg", "try_recover"),  # the last block that is there has garbage there
    ("2.21", "DecodeImage", "b1.bmp", '"channels": 1'),  # refused there, though 1.15 has it
    # What 1.15 refuses, or does otherwise, and 2.21 does as here: other channels than the file's, frames that are not whole or do not fill the picture.
    ("1.15", "DecodeBmp", "b[134].*", '"channels": '),
    ("1.15", "DecodeGif|DecodePng", "(anim_half|anim_less3|small|beyond|part|trans2).gif", ""),
    ("1.15", "ExtractJpegShape", "prog_half.jpg", ""),
]


def recorded(release):
    with open(os.path.join(FOLDER, f"recorded_{release}.json"), encoding="utf-8") as f:
        return json.load(f)


def unlike(release, op, name, attrs):
    return any(release in r and re.fullmatch(o, op) and re.fullmatch(n, name) and a in json.dumps(attrs) for r, o, n, a in UNLIKE)


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_every_file_is_what_the_release_makes_of_it(release):
    wrong, same = [], 0
    for op, name, attrs, expected in recorded(release):
        if expected == "crash" or unlike(release, op, name, attrs):
            continue
        made = record.run(tw, op, name, attrs)
        if made == expected or isinstance(made, str) and isinstance(expected, str):
            same += 1
        else:
            wrong.append((op, name, attrs, expected, made))
    assert not wrong, f"{len(wrong)} of {len(wrong) + same}, first: " + "\n".join(map(str, wrong[:20]))
    assert same > 500


def test_without_the_component_operations_say_what_is_missing(tmp_path):
    package = os.path.dirname(tw.__file__)
    shutil.copytree(package, tmp_path / "thalweg", ignore=shutil.ignore_patterns("libthalweg_images.so", "libthalweg_dnnl.so"))
    program = ("import thalweg as tw\n"
               "with tw.Session() as s:\n"
               "    try: s.run(tw.image.decode_png(b'\\x89PNG\\r\\n\\x1a\\n'))\n"
               "    except tw.errors.UnimplementedError as error: print(error)\n")
    said = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True, cwd=tmp_path,
                          capture_output=True, text=True).stdout
    assert "need libthalweg_images.so (and libjpeg, libpng and giflib) beside the library" in said


def run(fetches, feeds=None):
    with tw.Session() as session:
        return session.run(fetches, feeds)


def picture(rows=19, columns=23, channels=3):
    y, x = np.mgrid[0:rows, 0:columns]
    return np.stack([127 + 100 * np.sin(y / (5.0 + c)) * np.cos(x / (7.0 - c)) for c in range(channels)], -1).astype(np.uint8)


def test_what_is_written_is_read():
    for channels in (1, 2, 3, 4):
        pixels = picture(channels=channels)
        wide = pixels.astype(np.uint16) * 250
        for given in (pixels, wide):
            made = run(tw.image.decode_png(tw.image.encode_png(given), dtype=given.dtype))
            np.testing.assert_array_equal(made, given)
        batch = run(tw.image.encode_png(np.stack([pixels, 255 - pixels])))
        np.testing.assert_array_equal(run(tw.image.decode_image(batch[1])), 255 - pixels)
    for channels in (1, 3):
        pixels = picture(channels=channels)
        for options in ({}, {"progressive": True}, {"optimize_size": True}, {"chroma_downsampling": False}, {"xmp_metadata": "<x/>"}):
            file = tw.image.encode_jpeg(pixels, quality=97, **options)
            made, shape, is_jpeg = run([tw.image.decode_jpeg(file), tw.image.extract_jpeg_shape(file), tw.image.is_jpeg(file)])
            assert np.abs(made.astype(int) - pixels).max() < 40 and list(shape) == [19, 23, channels] and is_jpeg


def test_functions_of_files():
    file = run(tw.image.encode_jpeg(picture()))
    whole = run(tw.image.decode_jpeg(file, dct_method="INTEGER_ACCURATE"))
    part = tw.image.decode_and_crop_jpeg(file, [4, 5, 6, 7], dct_method="INTEGER_ACCURATE")
    assert part.shape.as_list() == [6, 7, None] and run(part).shape == (6, 7, 3) and whole.shape == (19, 23, 3)
    for dtype, most in ((tw.uint8, 255), (tw.uint16, 65280), (tw.float32, 1.0), (tw.float64, 1.0), (tw.int32, 2**31 - 2**23)):
        made = tw.image.decode_image(file, channels=3, dtype=dtype)
        pixels = run(made)
        assert pixels.dtype == dtype.as_numpy_dtype
        np.testing.assert_allclose(pixels, run(tw.image.decode_jpeg(file)).astype(np.float64) * (most / 255), rtol=1e-6)
    assert tw.image.decode_image(file, expand_animations=False, channels=1).shape.as_list() == [None, None, 1]
    with pytest.raises(ValueError, match="channels must be in"):
        tw.image.decode_image(file, channels=2)


def test_quality_that_is_lost():
    pixels = picture()
    made = run(tw.image.adjust_jpeg_quality(pixels, 30))
    np.testing.assert_array_equal(made, run(tw.image.decode_jpeg(tw.image.encode_jpeg(pixels, quality=30))))
    floats = run(tw.image.adjust_jpeg_quality(pixels / np.float32(255), tw.constant(30)))
    assert floats.dtype == np.float32 and np.abs(floats - made / 255.0).max() < 0.02
    tw.set_random_seed(3)
    assert run(tw.image.random_jpeg_quality(pixels, 20, 90)).shape == pixels.shape
    for least, most, message in ((-1, 5, "between 0 and 100"), (5, 101, "between 0 and 100"), (5, 5, "must be less than")):
        with pytest.raises(ValueError, match=message):
            tw.image.random_jpeg_quality(pixels, least, most)


def test_errors_say_what_was_expected():
    def message(tensor):
        with pytest.raises(tw.errors.InvalidArgumentError) as error:
            run(tensor)
        return str(error.value)
    assert "Input is empty." in message(tw.image.decode_png(b""))
    assert "Unknown image file format. One of JPEG, PNG, GIF, BMP required." in message(tw.image.decode_jpeg(b"none"))
    assert "Invalid PNG data, size 8: the file ends too early, at byte 8 of 8" in message(tw.image.decode_png(b"\x89PNG\r\n\x1a\n"))
    assert "data size 4: " in message(tw.image.decode_jpeg(b"\xff\xd8\xff\xe0"))
    file = run(tw.image.encode_jpeg(picture()))
    assert "crop window does not lie within 19 rows and 23 columns" in message(tw.image.decode_and_crop_jpeg(file, [10, 10, 10, 5]))
    assert "quality must be in [0,100], got 101" in message(tw.image.encode_jpeg(picture(), quality=101))
    assert "Trying to decode JPEG format using DecodeBmp op. Use `decode_jpeg`" in message(tw.image.decode_bmp(file))


def test_sounds():
    sound = np.sin(np.arange(3000) * 0.3).astype(np.float32).reshape(1500, 2)
    file = audio_ops.encode_wav(sound, 8000)
    decoded = audio_ops.decode_wav(file, desired_channels=1)
    spectra = audio_ops.audio_spectrogram(decoded.audio, window_size=400, stride=160, magnitude_squared=True)
    features = audio_ops.mfcc(spectra, decoded.sample_rate)
    assert spectra.shape.as_list() == [1, None, 257]
    heard, rate, seen, felt = run([tw.audio.decode_wav(file)[0], decoded.sample_rate, spectra, features])
    assert rate == 8000 and np.abs(heard - sound).max() < 1 / 32000
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    expected = np.abs(np.fft.rfft(heard[160:560, 0].astype(np.float64) * window, 512)) ** 2
    np.testing.assert_allclose(seen[0, 1], expected, rtol=1e-4, atol=1e-6)
    assert felt.shape == (1, 7, 13) and np.isfinite(felt).all()


def test_sounds_are_found_under_their_old_path():
    from thalweg.compatibility import stand_ins
    module = stand_ins.module("tensorflow.contrib.framework.python.ops.audio_ops")
    assert module.mfcc is audio_ops.mfcc
