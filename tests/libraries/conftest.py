# SPDX-License-Identifier: Apache-2.0
"""Unmodified libraries of TensorFlow 1's time on thalweg.as_tensorflow: `./dev libraries`."""
import os
import re
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def last_number(tmp_path):
    """last_number(program): runs a program that imports tensorflow; the number on the last line that it prints."""
    def run(program):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(program))
        done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", str(path)], capture_output=True, text=True,
                              env=dict(os.environ), cwd=tmp_path, check=False, timeout=600)
        assert done.returncode == 0, done.stderr[-4000:]
        return float(re.findall(r"[-+\d.e]+", done.stdout.strip().splitlines()[-1])[-1])
    return run
