# SPDX-License-Identifier: Apache-2.0
"""What a release of TensorFlow makes of the files that the fuzzers of decoders begin with: python record.py RELEASE
writes recorded_RELEASE.json: rows [operation, file, attributes, [type, shape, CRC-32 of the bytes] of each output, or the class of the error].

Each case is run in a process of its own where the release ends or hangs on it; those rows say "crash".
"""
import json
import os
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
CORPORA = os.path.join(os.path.dirname(os.path.dirname(HERE)), "fuzz")
WINDOWS = ([3, 5, 20, 30], [0, 0, 37, 53], [36, 52, 1, 1], [10, 17, 9, 3], [2, 40, 30, 13], [17, 1, 20, 52], [30, 30, 8, 8], [0, 0, 0, 5])


def jpeg_cases():
    yield from ({"channels": c} for c in (0, 1, 3))
    yield from ({"ratio": r} for r in (2, 4, 8))
    yield from ({"ratio": 2, "fancy_upscaling": False}, {"fancy_upscaling": False}, {"dct_method": "INTEGER_ACCURATE"},
                {"dct_method": "INTEGER_FAST"}, {"try_recover_truncated": True, "acceptable_fraction": 0.3})


def cases():
    """(operation, file, attributes)"""
    for name in sorted(os.listdir(os.path.join(CORPORA, "jpeg"))):
        yield from (("DecodeJpeg", name, attrs) for attrs in jpeg_cases() if name != "magic.jpg" or "try_recover_truncated" not in attrs)
        yield from (("DecodeAndCropJpeg", name, {"crop_window": w, **a}) for w in WINDOWS
                    for a in ({}, {"channels": 1}, {"fancy_upscaling": False}, {"dct_method": "INTEGER_ACCURATE"}))
        yield from (("ExtractJpegShape", name, {}), ("DecodePng", name, {}), ("DecodeGif", name, {}), ("DecodeBmp", name, {}))
    for name in sorted(os.listdir(os.path.join(CORPORA, "png"))):
        yield from (("DecodePng", name, {"channels": c, "dtype": d}) for c in (0, 1, 3, 4) for d in ("uint8", "uint16"))
        yield from (("DecodeJpeg", name, {}), ("DecodeGif", name, {}))
    for name in sorted(os.listdir(os.path.join(CORPORA, "gif"))):
        yield from (("DecodeGif", name, {}), ("DecodePng", name, {}))
    for name in sorted(os.listdir(os.path.join(CORPORA, "bmp"))):
        yield from (("DecodeBmp", name, {"channels": c}) for c in (0, 3, 4))
    for kind in ("jpeg", "png", "gif", "bmp"):
        for name in sorted(os.listdir(os.path.join(CORPORA, kind))):
            yield from (("DecodeImage", name, {"channels": c}) for c in (0, 1, 3, 4))
            yield from (("DecodeImage", name, {"dtype": d, "channels": c}) for d in ("uint16", "float32") for c in (0, 3))
            yield "DecodeImage", name, {"expand_animations": False}
    for name in sorted(os.listdir(os.path.join(CORPORA, "wav"))):
        yield from (("DecodeWav", name, a) for a in ({}, {"desired_channels": 1}, {"desired_channels": 3}, {"desired_samples": 5},
                                                     {"desired_samples": 70, "desired_channels": 2}))


def contents(name):
    kind = {"jpg": "jpeg"}.get(name.rpartition(".")[2], name.rpartition(".")[2])
    with open(os.path.join(CORPORA, kind, name), "rb") as f:
        return f.read()


def digest(value):
    return [str(value.dtype), list(value.shape), zlib.crc32(value.tobytes())]


def run(tf, op, name, attrs):
    """The row's last element."""
    import numpy as np
    attrs = {k: getattr(tf, v) if k == "dtype" else v for k, v in attrs.items()}
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(tf.string, [])
        try:
            made = session.run(getattr(tf.raw_ops, op)(contents=fed, **attrs), {fed: contents(name)})
        except (tf.errors.OpError, ValueError) as error:
            return type(error).__name__
    return [digest(np.asarray(v)) for v in (made if isinstance(made, tuple) else [made])]


def some(first, out):
    """Cases from number `first` on, one row a line; ends early where the release does."""
    import signal

    import tensorflow as tf
    for i, case in enumerate(cases()):
        if i < first or case[0] == "DecodeImage" and tf.__version__.startswith("1."):
            continue
        signal.alarm(60)
        with open(out, "a") as f:
            f.write(json.dumps([i, *case, run(tf, *case)]) + "\n")


def main(release):
    out, listed = os.path.join(HERE, f"recorded_{release}.json"), list(cases())
    open(out, "w").close()
    first = 0
    while subprocess.run([sys.executable, __file__, "--from", str(first), out], stderr=subprocess.DEVNULL).returncode != 0:
        with open(out) as f:
            done = [json.loads(line)[0] for line in f]
        first = (done[-1] if done else -1) + 2
        with open(out, "a") as f:
            f.write(json.dumps([first - 1, *listed[first - 1], "crash"]) + "\n")
    with open(out) as f:
        rows = [json.loads(line)[1:] for line in f]
    with open(out, "w") as f:
        f.write("[" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "]\n")


if __name__ == "__main__":
    if sys.argv[1] == "--from":
        some(int(sys.argv[2]), sys.argv[3])
    else:
        main(sys.argv[1])
