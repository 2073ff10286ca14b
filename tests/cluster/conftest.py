# SPDX-License-Identifier: Apache-2.0
"""Launchers that other projects make, each run for real on this host: ./dev cluster. What is missing here is a failure, no skip."""
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "launch"
sys.path.insert(0, str(EXAMPLES))


def output_of(command, environment=None, seconds=240, folder=None):
    """What a command prints, which must succeed."""
    done = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def examples():
    return EXAMPLES


def check_training(text, workers=2):
    """What examples/launch/train.py prints, of all its tasks."""
    assert "ps 0: all workers are done" in text, text
    for worker in range(workers):
        assert f"worker {worker}: loss 0.00" in text and "[1.0, -2.0, 3.0, 0.5]" in text, text
