# SPDX-License-Identifier: Apache-2.0
"""The wheel installs in a fresh virtual environment and runs a graph there."""
import glob
import os
import subprocess
import sys
import sysconfig

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = """
import thalweg as tf
x = tf.placeholder(tf.float32, [2])
with tf.Session() as session:
    print(session.run(x + 1.0, {x: [1, 2]}).tolist(), tf.__file__)
"""


def test_wheel_in_a_fresh_environment(tmp_path):
    subprocess.run([sys.executable, os.path.join(ROOT, "tools", "make_wheel.py"), tmp_path], check=True)
    [wheel] = glob.glob(str(tmp_path / "*.whl"))
    assert os.path.getsize(wheel) < 30e6
    subprocess.run(["/usr/bin/python3", "-m", "venv", tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel], check=True)
    # numpy, all that it needs without bfloat16, comes from where these tests have it: no network.
    [site] = glob.glob(str(tmp_path / "venv" / "lib" / "python3*" / "site-packages"))
    os.symlink(os.path.join(sysconfig.get_paths()["purelib"], "numpy"), os.path.join(site, "numpy"))
    libraries = os.path.join(sysconfig.get_paths()["purelib"], "numpy.libs")
    if os.path.isdir(libraries):
        os.symlink(libraries, os.path.join(site, "numpy.libs"))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    p = subprocess.run([python, "-c", PROGRAM], env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True)
    assert p.returncode == 0, p.stderr
    values, place = p.stdout.strip().rsplit(" ", 1)
    assert values == "[2.0, 3.0]" and place.startswith(str(tmp_path))
    assert p.stderr == ""  # a successful run is quiet
