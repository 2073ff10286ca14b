# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/howto/train_on_many_machines.md, each under the name in its first line, print what the text behind them says."""
import os
import re
import subprocess
import sys

import pytest
import thalweg

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with open(os.path.join(ROOT, "docs", "howto", "train_on_many_machines.md"), encoding="utf-8") as page:
    BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```$", page.read(), re.MULTILINE | re.DOTALL)
PROGRAMS = {text.split()[1]: text for kind, text in BLOCKS if kind == "python"}
SAID = [text for kind, text in BLOCKS if kind == "text"]
RUN = ["launch.py", "devices.py", "loop.py", "launch_in_step.py"]


def test_the_page_is_whole():
    assert sorted(PROGRAMS) == sorted(["train.py", "in_step.py", *RUN]) and len(SAID) == len(RUN)


@pytest.mark.parametrize("name", RUN)
def test_each_program(tmp_path, name):
    for each, text in PROGRAMS.items():
        (tmp_path / each).write_text(text)
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", name], capture_output=True, text=True, check=False, cwd=tmp_path,
                          timeout=400, env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(thalweg.__file__))})
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == SAID[RUN.index(name)]
