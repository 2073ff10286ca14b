# SPDX-License-Identifier: Apache-2.0
"""Pictures and sounds as files, and the features of sounds. Many more files: python/tests/test_picture_files.py."""
import os

import numpy as np
from cases import ROOT, Fed, N, case, pos

CORPORA = os.path.join(ROOT, "tests", "fuzz")


def file(name):
    kind = {"jpg": "jpeg"}.get(name.rpartition(".")[2], name.rpartition(".")[2])
    with open(os.path.join(CORPORA, kind, name), "rb") as f:
        return Fed(f.read())


PIXELS = Fed((np.arange(9 * 11 * 3) * 37 % 251).astype(np.uint8).reshape(9, 11, 3))
SOUND = Fed((np.sin(np.arange(200) * 0.7) * 0.9).astype(np.float32).reshape(100, 2))
CASES = [
    *[case("DecodeJpeg", file(f), channels=c, dct_method=m) for f in ("rgb420.jpg", "gray.jpg") for c, m in ((0, ""), (1, "INTEGER_ACCURATE"), (3, "INTEGER_FAST"))], case("DecodeJpeg", file("rgb444.jpg"), ratio=2), case("DecodeJpeg", file("prog.jpg"), fancy_upscaling=False), case("DecodeJpeg", file("cmyk.jpg")), case("DecodeJpeg", file("prog_half.jpg")), case("DecodeJpeg", file("bit1.png")), case("DecodeJpeg", file("rst.jpg"), ratio=3),
    *[case("DecodeAndCropJpeg", file("rgb420.jpg"), Fed(w)) for w in ([3, 5, 20, 30], [36, 52, 1, 1], [30, 30, 8, 8], [0, 0, 0, 5])], case("ExtractJpegShape", file("cmyk.jpg")), case("ExtractJpegShape", file("magic.jpg")),
    *[case("DecodePng", file(f), channels=c) for f in ("rgb.png", "palt.png", "c4_16.png", "c3_inter.png") for c in (0, 1, 4)], case("DecodePng", file("c3_inter_half.png")), case("DecodePng", file("huge.png")),
    case("DecodeGif", file("anim.gif")), case("DecodeGif", file("one.gif")), case("DecodeGif", file("magic.gif")), case("DecodeBmp", file("b3.bmp")), case("DecodeBmp", file("b4td.bmp")), case("DecodeBmp", file("b3_half.bmp")),
    *[case("DecodeImage", file(f), channels=3, expand_animations=False) for f in ("rgb420.jpg", "c4_16.png", "part.gif", "b4.bmp")], case("DecodeImage", file("anim.gif")),
    case("EncodeJpeg", PIXELS), case("EncodeJpeg", PIXELS, quality=50, progressive=True), case("EncodeJpeg", PIXELS, optimize_size=True, chroma_downsampling=False, xmp_metadata="<x/>"), case("EncodeJpeg", PIXELS, format="grayscale"), case("EncodeJpeg", PIXELS, quality=101), case("EncodeJpegVariableQuality", PIXELS, Fed(40)),
    case("DecodePng", N("EncodePng", PIXELS, T="uint8")), case("EncodePng", PIXELS, T="uint8"), case("EncodePng", PIXELS, compression=10, T="uint8"),
    case("DecodeWav", file("st.wav")), case("DecodeWav", file("mono.wav"), desired_channels=2, desired_samples=70), case("DecodeWav", file("half.wav")), case("DecodeWav", file("f3.wav")), case("EncodeWav", SOUND, Fed(8000)), case("EncodeWav", SOUND, Fed(0)),
    *[case("AudioSpectrogram", SOUND, window_size=w, stride=s, magnitude_squared=q) for w, s, q in ((32, 16, False), (25, 7, True), (200, 1, False))], case("AudioSpectrogram", SOUND, window_size=1, stride=1), *[case("Mfcc", pos(2, 3, 65), Fed(8000), **a) for a in ({}, {"filterbank_channel_count": 20, "dct_coefficient_count": 20}, {"upper_frequency_limit": 9000.0}, {"dct_coefficient_count": 41})],
]
