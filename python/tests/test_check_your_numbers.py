# SPDX-License-Identifier: Apache-2.0
"""Each block of docs/howto/check_your_numbers.md runs, one after the other in one program, and prints what the text behind it says."""
import contextlib
import io
import os
import re
import subprocess
import sys

import pytest
import thalweg as tw

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def test_each_block(tmp_path, monkeypatch):
    command = tmp_path / "bin" / "thalweg"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m thalweg "$@"\n')
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(command.parent), os.environ["PATH"]]))
    with open(os.path.join(ROOT, "docs", "howto", "check_your_numbers.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", f.read(), re.MULTILINE | re.DOTALL)
    names, said = {}, ""
    for language, text in blocks:
        if language == "text":
            assert said == text, f"{said}\n--- is not ---\n{text}"
        elif language == "python":
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                exec(compile(text, "check_your_numbers.md", "exec"), names)
            said = told.getvalue()
        else:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0 and done.stderr == "", text + done.stdout + done.stderr
            said = done.stdout
    names["session"].close()
    assert [language for language, _ in blocks].count("text") == 7


@pytest.mark.parametrize("seed", [None, 3])
def test_random_operations_of_a_model_differ_unless_they_have_seeds(tmp_path, seed):
    with tw.Graph().as_default(), tw.Session() as session:
        tw.set_random_seed(seed)
        x = tw.placeholder(tw.float32, [None, 4], name="x")
        tw.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": x + tw.random_normal([4])})
    done = subprocess.run([sys.executable, "-m", "thalweg", "verify", str(tmp_path / "model"), "--against", "threads=1"], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == (1 if seed is None else 0), done.stdout + done.stderr
    assert seed is not None or done.stdout.startswith("first difference: RandomStandardNormal 'random_normal/RandomStandardNormal:0'"), done.stdout
