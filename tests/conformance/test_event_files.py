# SPDX-License-Identifier: Apache-2.0
"""Event files of every kind of summary, written by Thalweg and both releases of TensorFlow, and read by all of them (users J3)."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from releases import OLD_PYTHON, need_1_15, their_environment

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "event_files.py")
# Of each: its Python, its module, and whether it has scalar and the like of the second release without more packages.
ENGINES = {"thalweg": (sys.executable, "thalweg", True), "2.21": (sys.executable, "tensorflow", False),
           "1.15": (OLD_PYTHON, "tensorflow", True)}


def call(engine, *arguments):
    python, module, _ = ENGINES[engine]
    environment = dict(os.environ) if module == "thalweg" else their_environment()
    done = subprocess.run([python, PROGRAM, module, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def here(engine):
    if engine == "1.15":
        need_1_15()  # what it wrote is in tests/golden/events, too


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of an engine's files; `functions`: with scalar and the like."""
    folders = {}

    def folder(engine, functions):
        here(engine)
        key = engine, functions
        if key not in folders:
            folders[key] = str(tmp_path_factory.mktemp(engine))
            call(engine, "write", folders[key], *(["functions"] if functions else []))
        return folders[key]
    return folder


@pytest.fixture(scope="module")
def found(written):
    """What an engine reads of what another wrote."""
    known = {}

    def read(reader, writer, functions):
        here(reader)
        key = reader, writer, functions
        if key not in known:
            known[key] = json.loads(call(reader, "read", written(writer, functions)).splitlines()[-1])
        return known[key]
    return read


def same(ours, theirs):
    """The same, but for the last bits of numbers that sums in another order give."""
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    elif isinstance(theirs, list) and isinstance(ours, list):
        assert len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            same(ours[key], theirs[key])
    else:
        assert ours == theirs


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_thalweg_reads_what_tensorflow_wrote(found, release):
    functions = ENGINES[release][2]
    same(found("thalweg", release, functions), found(release, release, functions))


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_tensorflow_reads_what_thalweg_wrote(found, release):
    functions = ENGINES[release][2]
    same(found(release, "thalweg", functions), found("thalweg", "thalweg", functions))


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_they_write_the_same(found, release):
    functions = ENGINES[release][2]
    theirs, ours = found(release, release, functions), found(release, "thalweg", functions)
    assert [row["what"] for row in ours] == [row["what"] for row in theirs]
    for a, b in zip(ours, theirs):
        same(a, b)
