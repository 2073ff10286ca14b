# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of partitioned variables: what each of TensorFlow 1.15, 2.21 and Thalweg writes, the others read, also into parts of
another number and along another dimension."""
import itertools
import json
import os
import subprocess
import sys

import pytest
from releases import OLD_PYTHON, need_1_15, their_environment

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "partitioned.py")
ENGINES = {"thalweg": [sys.executable, PROGRAM, "thalweg"], "2.21": [sys.executable, PROGRAM, "tensorflow"],
           "1.15": [OLD_PYTHON, PROGRAM, "tensorflow"]}


def run(engine, *arguments):
    done = subprocess.run([*ENGINES[engine], *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env=None if engine == "thalweg" else their_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("writer,reader", [p for p in itertools.permutations(ENGINES, 2) if "thalweg" in p])
def test_each_reads_what_the_other_wrote(writer, reader, version, tmp_path):
    if "1.15" in (writer, reader):
        need_1_15()
    path = str(tmp_path / "model")
    for kind in ("reference", "resource"):
        wrote = run(writer, "save", path, version, kind, 3, 0)
        assert wrote["shapes"]["part"] == wrote["shapes"]["part/Momentum"] == [10, 4] and "part/part_0" not in wrote["shapes"]
        for parts, axis in ((3, 0), (2, 1)):
            assert run(reader, "restore", path, version, kind, parts, axis) == wrote
