# SPDX-License-Identifier: Apache-2.0
"""Children that are killed while they work, and programs that kill many of them: what `killed_saves` and `killed_pipelines` share."""
import os
import random
import shutil
import sys
import tempfile
import time
import traceback


def start(work):
    """A child that runs `work(say)` and ends; its id, and a file in which the lines that it says are heard, up to its end."""
    heard, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(heard)
        try:
            work(lambda line: os.write(said, line.encode() + b"\n"))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(said)
    return pid, os.fdopen(heard, "r")


def main(play, report, count):
    """The program: python NAME.py [COUNT] [SEED]. `play(count, seed, folder)` gives the number for `report.format(count=, seconds=, found=)`."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else count
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    folder = tempfile.mkdtemp()
    print(f"{count} kills, seed {seed}", flush=True)
    began = time.monotonic()
    found = play(count, seed, folder)
    shutil.rmtree(folder)
    print(report.format(count=count, seconds=round(time.monotonic() - began), found=found))
