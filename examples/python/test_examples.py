# SPDX-License-Identifier: Apache-2.0
"""Every example runs and ends with what it promises; the demo learns the digits, and learns nothing from shuffled labels."""
import glob
import os
import re
import statistics
import subprocess
import sys
import xml.etree.ElementTree

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

LAST_LINE = {
    "char_rnn.py": r"bits a letter: [01]\.\d\d",
    "convnet_queues.py": r"test accuracy: (0\.9[3-9]|1\.0)\d*",
    "demo.py": r"test accuracy: (0\.9[78]|0\.99|1\.0)\d*",
    "figure1.py": r"9 \d+\.\d+",
    "linear_regression.py": r"y = (2\.9|3\.0)\d x \+ (1\.9|2\.0)\d",
    "mlp_digits.py": r"test accuracy: (0\.9[5-9]|1\.0)\d*",
    "train_on_pictures.py": r"test accuracy: (0\.9[2-9]|1\.0)\d*",
}


def run(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(HERE, name), *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600)


def test_every_example_is_listed():
    names = {os.path.basename(p) for p in glob.glob(os.path.join(HERE, "*.py"))}
    assert names == set(LAST_LINE) | {"digits.py", "picture.py", "pictures.py", "test_examples.py"}


@pytest.mark.parametrize("name", sorted(LAST_LINE))
def test_runs(name, tmp_path):
    p = run(name, *([0, tmp_path] if name == "demo.py" else []))
    assert p.returncode == 0, p.stderr
    assert re.fullmatch(LAST_LINE[name], p.stdout.splitlines()[-1]), p.stdout
    assert p.stderr == ""  # a successful run is quiet
    if name == "demo.py":
        drawn = xml.etree.ElementTree.parse(tmp_path / "demo.svg").getroot()
        words = [e.text for e in drawn.iter("{http://www.w3.org/2000/svg}text")]
        right = re.search(r"300 digits it had never seen: (\d+) read right", words[0])
        assert int(right[1]) == round(300 * float(p.stdout.split()[-1]))
        assert sum("is" in w for w in words[1:] if w[0].isdigit()) >= min(10, 300 - int(right[1]))  # each that was misread


def test_the_guide_to_pictures_shows_what_the_programs_do():
    with open(os.path.join(HERE, "..", "..", "docs", "howto", "train_on_pictures.md")) as f:
        guide = f.read()
    for language, program in (("python", "train_on_pictures.py"), ("cpp", os.path.join("..", "cpp", "train_on_pictures.cc"))):
        with open(os.path.join(HERE, program)) as f:
            lines = {line.strip() for line in f}
        parts = re.findall(rf"```{language}\n(.*?)```", guide, re.S)
        shown = [line.strip() for part in parts for line in part.splitlines()]
        assert len(parts) == 4 and [line for line in shown if line not in lines] == []


def test_readme_program_runs(tmp_path):
    with open(os.path.join(HERE, "..", "..", "README.md")) as f:
        program = re.findall(r"```python\n(.*?)```", f.read(), re.S)[0]
    (tmp_path / "program.py").write_text(program.replace("/tmp/", f"{tmp_path}/"))
    p = subprocess.run([sys.executable, tmp_path / "program.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.returncode == 0, p.stderr
    assert re.fullmatch(r"loss 0\.0\d+, w (2\.9|3\.0)\d+, b (1\.9|2\.0)\d+\n", p.stdout) and p.stderr == ""
    assert len(program.splitlines()) <= 24


def test_demo_learns_from_every_seed():
    import demo
    assert statistics.median(demo.test_accuracy(seed) for seed in range(5)) >= 0.98


def test_demo_learns_nothing_from_shuffled_labels():
    import demo
    assert demo.test_accuracy(seed=0, epochs=8, shuffled=True) < 0.2
