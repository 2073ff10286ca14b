# SPDX-License-Identifier: Apache-2.0
"""`thalweg checkpoint`, `records` and `events` see what TensorFlow's own readers of both releases see, and write what these read."""
import base64
import json
import math
import os
import subprocess
import sys

import pytest
from releases import OLD_PYTHON, ROOT, their_environment

COMMAND = os.path.join(ROOT, "build", os.environ.get("THALWEG_PRESET", "release"), "bin", "thalweg")
GOLDEN = os.path.join(ROOT, "tests", "golden")
PYTHONS = {"2.21": sys.executable, **({"1.15": OLD_PYTHON} if os.path.exists(OLD_PYTHON) else {})}
RECORDS = [os.path.join(GOLDEN, "records", release, name) for release in ("1.15", "2.21")
           for name in sorted(os.listdir(os.path.join(GOLDEN, "records", release))) if name.endswith(".tfrecord")]
CHECKPOINTS = [os.path.join(GOLDEN, "checkpoints", release, name) for release in ("1.15", "2.21")
               for name in ("typed", "sharded/model-7", "partitioned/model-3", "object/ckpt-3", "v1/model.ckpt", "v1/typed.ckpt")]


def theirs(release, kind, *paths):
    done = subprocess.run([PYTHONS[release], os.path.join(os.path.dirname(__file__), "file_reader.py"), kind, *paths],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, env=their_environment())
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


def ours(*words, status=0):
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    assert done.returncode == status, (words, done.stderr.decode())
    return done.stdout


def lines(text):
    return [json.loads(line) for line in text.decode().splitlines()]


@pytest.mark.parametrize("release", PYTHONS)
def test_records_are_those_of_their_reader(release):
    for path, found in zip(RECORDS, theirs(release, "records", *RECORDS)):
        # A header that is cut off ends their reader silently; the command says so.
        status = 0 if found["error"] is None and "truncated" not in path else 1
        raw = b"".join(base64.b64decode(r) for r in found["records"])
        assert ours("records", "cat", "--raw", path, status=status) == raw, path


@pytest.mark.parametrize("release", PYTHONS)
def test_examples_are_protobufs_json(release):
    whole = [path for path in RECORDS if path.endswith(("plain.tfrecord", "gzip.tfrecord"))]
    for path, found in zip(whole, theirs(release, "examples", *whole)):
        kind = "tensorflow.SequenceExample" if "sequence" in path else "tensorflow.Example"
        assert lines(ours("records", "cat", "--json", "-n", str(len(found)), "--type", kind, path)) == found, path


@pytest.mark.parametrize("release", PYTHONS)
def test_their_readers_read_what_is_written(release, tmp_path):
    source = os.path.join(GOLDEN, "records", "1.15", "example.gzip.tfrecord")
    ours("records", "shuffle", source, "--out", str(tmp_path / "s"), "--shards", "3", "--seed", "2")
    ours("records", "split", source, "--out", str(tmp_path / "p"), "--records", "5", "--compression", "zlib")
    assert (tmp_path / "s-00000-of-00003").read_bytes().startswith(b"\x1f\x8b")  # as the source is
    read = {kind: sum((found["records"] for found in theirs(release, "records", *sorted(
        str(p) for p in tmp_path.iterdir() if p.name.startswith(kind)))), []) for kind in "sp"}
    [plain] = theirs(release, "records", source)
    assert read["p"] == plain["records"] != read["s"]
    assert sorted(read["s"]) == sorted(plain["records"])


@pytest.mark.parametrize("release", PYTHONS)
def test_scalars_are_those_of_summary_iterator(release):
    for folder in (os.path.join(GOLDEN, "events", r) for r in ("1.15", "2.21")):
        [found] = theirs(release, "scalars", folder)
        [run] = json.loads(ours("events", "show", "--json", folder))["runs"]
        assert {tag["tag"]: tag["points"] for tag in run["tags"]} == found


def same(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(b, str) and b in ("nan", "inf", "-inf"):
        return a == {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[b]
    return a == b or (isinstance(a, float) and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-44))


@pytest.mark.parametrize("release", PYTHONS)
def test_checkpoints_are_those_of_their_reader(release):
    for path, found in zip(CHECKPOINTS, theirs(release, "checkpoint", *CHECKPOINTS)):
        listed = {t["name"]: [t["dtype"], t["shape"]] for t in json.loads(ours("checkpoint", "ls", "--json", path))["tensors"]}
        assert listed == {name: value[:2] for name, value in found.items()}, path
        for tensor in json.loads(ours("checkpoint", "show", "--json", "--limit", "-1", path, "*")):
            values = found[tensor["name"]][2]
            if values is None:
                continue
            assert same(tensor["values"], values), (path, tensor["name"])
