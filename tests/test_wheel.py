# SPDX-License-Identifier: Apache-2.0
"""The wheel installs in a fresh virtual environment, runs a graph there, and tells a type checker what its names are."""
import glob
import os
import subprocess
import sys
import sysconfig

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = """
import thalweg as tf
x = tf.placeholder(tf.float32, [2])
with tf.Session() as session:
    print(session.run(x + 1.0, {x: [1, 2]}).tolist(), tf.__file__)
"""


# (a line of a program, what mypy says of it)
WRONG = """
tf.layers.dense(tf.zeros([2, 2]), units="many") | Argument "units" to "dense" has incompatible type "str"
tf.train.AdamOptimizer(0.1).minimze(tf.zeros([])) | "AdamOptimizer" has no attribute "minimze"
tf.train.Saver().save(tf.Session()) | Missing positional argument "save_path" in call to "save" of "Saver"
tf.data.Dataset.range(3).batch("2") | Argument 1 to "batch" of "Dataset" has incompatible type "str"
tf.Session().run() | Missing positional argument "fetches" in call to "run"
loss: int = tf.reduce_mean(tf.zeros([3])) | Incompatible types in assignment (expression has type "Tensor", variable has type "int")
tf.nn.rleu(1.0) | Module has no attribute "rleu"
"""


@pytest.fixture(scope="module", name="installed")
def fresh_environment(tmp_path_factory):
    """The folder of a virtual environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, os.path.join(ROOT, "tools", "make_wheel.py"), folder], check=True)
    [wheel] = glob.glob(str(folder / "*.whl"))
    assert os.path.getsize(wheel) < 30e6
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder / "venv"], check=True)
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel], check=True)
    # numpy, all that it needs without bfloat16, comes from where these tests have it: no network.
    [site] = glob.glob(str(folder / "venv" / "lib" / "python3*" / "site-packages"))
    os.symlink(os.path.join(sysconfig.get_paths()["purelib"], "numpy"), os.path.join(site, "numpy"))
    libraries = os.path.join(sysconfig.get_paths()["purelib"], "numpy.libs")
    if os.path.isdir(libraries):
        os.symlink(libraries, os.path.join(site, "numpy.libs"))
    return folder / "venv"


def run(installed, *arguments):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run([str(installed / "bin" / "python"), *arguments], env=environment, cwd=installed, capture_output=True, text=True,
                          check=False)


def test_wheel_in_a_fresh_environment(installed):
    p = run(installed, "-c", PROGRAM)
    assert p.returncode == 0, p.stderr
    values, place = p.stdout.strip().rsplit(" ", 1)
    assert values == "[2.0, 3.0]" and place.startswith(str(installed))
    assert p.stderr == ""  # a successful run is quiet


def test_a_program_of_a_user_runs_and_has_the_right_types(installed, tmp_path):
    program = os.path.join(ROOT, "tests", "wheel_program.py")
    p = run(installed, program, str(tmp_path))
    assert p.stdout.strip() == str(tmp_path / "model-3"), p.stderr
    mypy = os.path.join(ROOT, ".venvs", "lint", "bin", "mypy")
    if not os.path.exists(mypy):
        pytest.skip("no mypy: ./dev setup lint")

    (tmp_path / "mypy.ini").write_text("[mypy]\n")

    def says(path):
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MYPYPATH")}
        done = subprocess.run([mypy, "--strict", "--no-error-summary", "--config-file", tmp_path / "mypy.ini", "--python-executable",
                               installed / "bin" / "python", "--cache-dir", tmp_path / "cache", path], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, check=False)
        return done.stdout.splitlines()

    assert says(program) == []
    lines, wanted = zip(*(line.split(" | ") for line in WRONG.strip().splitlines()))
    (tmp_path / "wrong.py").write_text("import thalweg as tf\n" + "\n".join(lines) + "\n")
    found = {int(line.split(":")[1]): line.partition(": error: ")[2] for line in says("wrong.py") if ": error: " in line}
    assert sorted(found) == list(range(2, 2 + len(wanted))), found
    for number, words in enumerate(wanted, 2):
        assert found[number].startswith(words), found[number]
