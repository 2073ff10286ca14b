# SPDX-License-Identifier: Apache-2.0
"""Every cluster example runs and ends with what it promises (papers A7, B4.4, C6)."""
import glob
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
LAST_LINE = {
    "all_reduce.py": r"4 workers without a ps: the same weights on each, which differ by at most \d\.\de-\d+ from those of one",
    "asynchronous.py": r"360 updates of 3 replicas: loss 0\.[01]\d*",
    "backup_workers.py": r"normalized gain: \d+\.\d %",
    "concurrent_steps.py": r"steps a second: \d+ one by one, \d+ with three in flight",
    # Which two gradients make a step is the machine's choice, so each run ends elsewhere: most of them at 0.983 to 0.987.
    "demo_cluster.py": r"test accuracy: (0\.9[5-9]|1\.0)\d*",
    "model_parallel.py": r"three layers on three tasks: loss 0\.\d+ -> 0\.[012]\d*, on one device 0\.[012]\d*",
    "synchronous.py": r"10 replicas of 100 rows against one of 1000: weights differ by at most \d\.\de-\d+",
}


def test_every_example_is_listed():
    names = {os.path.basename(p) for p in glob.glob(os.path.join(HERE, "*.py"))}
    assert names == set(LAST_LINE) | {"tasks.py", "test_cluster_examples.py"}


@pytest.mark.parametrize("call", [*sorted(LAST_LINE), "asynchronous.py 2"])
def test_runs(call, tmp_path):
    name, *arguments = call.split()
    if name == "demo_cluster.py":
        arguments = [tmp_path / "demo"]
    p = subprocess.run([sys.executable, os.path.join(HERE, name), *arguments],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    assert p.returncode == 0, p.stderr
    assert re.fullmatch(LAST_LINE[name], p.stdout.splitlines()[-1]), p.stdout
    assert p.stderr == ""  # a successful run is quiet
    if name == "demo_cluster.py":
        assert "/job:worker/task:1 is killed\n" in p.stdout and p.stdout.count("/job:worker/task:1 trains\n") == 2


@pytest.mark.parametrize("arguments", [[], ["2"]])
def test_replicas_whose_first_one_fails_end_with_its_error(arguments):
    program = ("import runpy, sys, thalweg as tf\n"
               "def bad():\n    raise ValueError('no variables today')\n"
               "tf.global_variables_initializer = bad\n"
               f"sys.argv = ['asynchronous.py', *{arguments}]\n"
               f"runpy.run_path({os.path.join(HERE, 'asynchronous.py')!r}, run_name='__main__')\n")
    p = subprocess.run([sys.executable, "-c", program], cwd=HERE, capture_output=True, text=True, timeout=300, check=False)
    assert p.returncode == 1 and p.stderr.rstrip().endswith("ValueError: no variables today"), p.stderr
