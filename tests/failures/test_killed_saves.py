# SPDX-License-Identifier: Apache-2.0
"""Processes that save are killed THALWEG_KILLS times, 150 unless that is given, and the newest checkpoint loads (users G1)."""
import os
import subprocess
import sys

KILLS = os.environ.get("THALWEG_KILLS", "150")
SECONDS_EACH = 10  # at most, on a machine that is busy


def test_the_newest_checkpoint_is_whole():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "killed_saves.py")
    done = subprocess.run([sys.executable, program, KILLS], capture_output=True, text=True, check=False,
                          timeout=60 + SECONDS_EACH * int(KILLS))
    assert done.returncode == 0 and f"{KILLS} processes were killed" in done.stdout, done.stdout + done.stderr
