# SPDX-License-Identifier: Apache-2.0
"""Workers are killed in the middle of a dataset THALWEG_KILLS / 5 times, and go on exactly where their checkpoint stood."""
import os
import subprocess
import sys

KILLS = str(max(1, int(os.environ.get("THALWEG_KILLS", "150")) // 5))
SECONDS_EACH = 15  # at most, on a machine that is busy


def test_workers_go_on_where_their_checkpoint_stood():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "killed_pipelines.py")
    done = subprocess.run([sys.executable, program, KILLS], capture_output=True, text=True, check=False,
                          timeout=60 + SECONDS_EACH * int(KILLS))
    assert done.returncode == 0 and f"{KILLS} workers were killed" in done.stdout, done.stdout + done.stderr
