# SPDX-License-Identifier: Apache-2.0
"""Short soaks: parameter server, chief and workers are killed, a device is lost; every step is applied once (papers A3.3.3, B4.3)."""
import os
import re
import subprocess
import sys


def test_a_short_soak():
    soak = os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak.py")
    p = subprocess.run([sys.executable, soak, "300", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=280)
    assert p.returncode == 0, p.stderr
    first, killed, restored, memory = p.stdout.splitlines()
    assert re.match(r"300 steps in \d+ s, each applied once$", first)
    assert sum(map(int, re.match(r"killed: ps (\d), chief (\d), worker (\d)$", killed).groups())) >= 3, p.stdout
    assert restored.startswith("restored: ") and memory.startswith("memory, ")


def test_a_device_is_lost_in_the_middle_of_steps():
    soak = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lost_device.py")
    p = subprocess.run([sys.executable, soak, "150", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=280)
    assert p.returncode == 0, p.stderr
    *_, first, second = p.stdout.splitlines()
    assert re.match(r"150 steps in \d+ s, each applied once$", first), p.stdout
    lost, on_device, on_cpu = map(int, re.findall(r"\d+", second))
    assert lost >= 3 and on_device >= 2 and on_cpu >= 1 and on_device + on_cpu > lost, p.stdout
