# SPDX-License-Identifier: Apache-2.0
"""Processes are killed THALWEG_KILLS times, 150 unless that is given, as they save (users G1), and a fifth as often as they read a dataset."""
import os
import subprocess
import sys

import pytest

KILLS = int(os.environ.get("THALWEG_KILLS", "150"))


@pytest.mark.parametrize("program,kills,said,seconds_each", [
    ("killed_saves.py", KILLS, "processes were killed", 10),  # the newest checkpoint is whole
    ("killed_pipelines.py", max(1, KILLS // 5), "workers were killed", 15),  # the next one goes on where its checkpoint stood
])
def test_what_the_killed_leave(program, kills, said, seconds_each):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), program)
    # One seed, as a commit is to have one verdict, and time for a machine that is busy.
    done = subprocess.run([sys.executable, path, str(kills), "1"], capture_output=True, text=True, check=False, timeout=60 + seconds_each * kills)
    assert done.returncode == 0 and f"{kills} {said}" in done.stdout, done.stdout + done.stderr
