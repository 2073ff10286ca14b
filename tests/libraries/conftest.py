# SPDX-License-Identifier: Apache-2.0
"""Unmodified libraries of TensorFlow 1's time on thalweg.as_tensorflow: `./dev libraries`."""
import os
import re
import subprocess
import sys
import textwrap

import pytest


HERE = os.path.dirname(os.path.abspath(__file__))
OTHER = os.path.join(HERE, "..", "..", ".venvs", "libraries-other", "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")


def _numbers(program, folder, paths=()):
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])}
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", os.path.join(HERE, "seeded.py"), str(path)], capture_output=True,
                          text=True, env=environment, cwd=folder, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr[-4000:]
    return [float(number) for number in re.findall(r"[-+\d.e]+", done.stdout.strip().splitlines()[-1])]


@pytest.fixture
def last_numbers(tmp_path):
    """last_numbers(program): runs a program that imports tensorflow; the numbers on the last line that it prints."""
    return lambda program: _numbers(program, tmp_path)


@pytest.fixture
def last_number(last_numbers):
    """last_number(program): the last of them."""
    return lambda program: last_numbers(program)[-1]


@pytest.fixture
def other_numbers(tmp_path):
    """As last_numbers, with the libraries of which requirements-libraries-other.txt has other versions."""
    return lambda program: _numbers(program, tmp_path, [OTHER])
