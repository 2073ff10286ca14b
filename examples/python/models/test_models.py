# SPDX-License-Identifier: Apache-2.0
"""Every model trains: at a size that takes seconds its loss falls as far as is stated."""
import glob
import json
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))

# Arguments of a small run, and the share of the first loss that the last may be.
SMALL = {
    "alexnet.py": (["--steps", 40, "--batch", 4, "--size", 63, "--width", 64, "--classes", 3], 0.97),
    "lenet.py": (["--steps", 60, "--batch", 32], 0.4),
    "lstm_language_model.py": (["--steps", 80, "--units", 64], 0.8),
    "resnet50.py": (["--steps", 15, "--batch", 4, "--size", 64, "--classes", 2], 0.95),
    "transformer.py": (["--steps", 120, "--length", 8, "--symbols", 8, "--units", 32], 0.85),
    "vgg.py": (["--steps", 40, "--batch", 8, "--size", 32, "--width", 64, "--classes", 3], 0.97),
    "wide_and_deep.py": (["--steps", 200, "--batch", 128], 0.9),
}

# Sizes at which a step's values outweigh the workspace of single kernels, which no plan counts.
MEMORY = {
    "alexnet.py": ["--batch", 16, "--size", 127, "--width", 64, "--classes", 3],
    "lenet.py": ["--batch", 256],
    "lstm_language_model.py": ["--units", 64],
    "resnet50.py": ["--batch", 4, "--size", 64, "--classes", 2],
    "transformer.py": ["--length", 64, "--symbols", 8, "--units", 64],
    "vgg.py": ["--batch", 8, "--size", 64, "--width", 64, "--classes", 3],
    "wide_and_deep.py": ["--batch", 1024],
}


def test_every_model_is_listed():
    names = {os.path.basename(p) for p in glob.glob(os.path.join(HERE, "*.py"))}
    assert names == set(SMALL) | {"gratings.py", "memory_probe.py", "test_models.py", "training.py"}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_learns(name):
    arguments, share = SMALL[name]
    p = subprocess.run([sys.executable, os.path.join(HERE, name), *map(str, arguments)], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=900)
    assert p.returncode == 0 and p.stderr == "", p.stderr
    first, last = re.fullmatch(r"loss (\S+) -> (\S+) in \d+ steps, \S+ \w+/s", p.stdout.splitlines()[-1]).groups()
    assert float(last) < share * float(first), p.stdout


@pytest.mark.parametrize("name", sorted(MEMORY))
def test_memory_is_steady_and_planned(name):
    """No growth and no page faults after the first steps; the peak known beforehand is that of the step to a tenth."""
    p = subprocess.run([sys.executable, os.path.join(HERE, "memory_probe.py"), name, "--threads", "1", *map(str, MEMORY[name])],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900)
    assert p.returncode == 0 and p.stderr == "", p.stderr
    found = json.loads(p.stdout)
    assert found["grown"] == 0 and found["faults"] < 100, found  # of twenty steps: one buffer of a step has more pages
    assert abs(found["planned"] - found["taken"]) <= 0.1 * found["taken"], found
