#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/random/random_digests.txt from random_bits.{json,npz} beside it: a line per recorded output, with
the SHA-256 of all its bytes, for tests that have neither numpy nor a zip library. Needs the standard library only.

    tools/gen_random_digests.py            # run it again after the recorded files change
"""
import ast
import hashlib
import json
import pathlib
import zipfile

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/random"


def data_of(npy):
    """The bytes of the elements in a .npy file."""
    header = int.from_bytes(npy[8:10], "little")
    assert npy[6] == 1 and not ast.literal_eval(npy[10:10 + header].decode())["fortran_order"]
    return npy[10 + header:]


def argument(attrs):
    """What a row was asked for beside its seeds, without spaces."""
    if "value" in attrs:
        return attrs["value"].replace(" ", "")
    if "num_samples" in attrs:
        return str(attrs["num_samples"])
    text = ",".join(str(d) for d in attrs["shape"])
    if "minval" in attrs:
        text += ":%d:%d" % (attrs["minval"], attrs["maxval"])
    return text


def main():
    rows = [r for r in json.loads((GOLDEN / "random_bits.json").read_text())["rows"] if "op" in r]
    arrays = zipfile.ZipFile(GOLDEN / "random_bits.npz")
    wanted = ("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "RandomShuffle",
              "Multinomial", "StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal",
              "StatelessRandomUniformInt", "StatelessRandomUniformFullInt")
    lines = []
    for r in rows:
        if r["op"] not in wanted:
            continue
        a = r["attrs"]
        seeds = a["seed"] if isinstance(a["seed"], list) else [a["seed"], a["seed2"]]
        digest = r.get("sha256") or hashlib.sha256(data_of(arrays.read(r["key"] + ".npy"))).hexdigest()
        lines.append((r["op"], r["out_dtype"], argument(a), seeds[0], seeds[1], r["run"], digest))
    lines.sort()
    text = "# op dtype argument seed seed2 run sha256: made by tools/gen_random_digests.py\n"
    text += "".join(" ".join(str(f) for f in line) + "\n" for line in lines)
    (GOLDEN / "random_digests.txt").write_text(text)
    print(len(lines), "rows")


if __name__ == "__main__":
    main()
