# SPDX-License-Identifier: Apache-2.0
"""Each block of docs/howto/check_your_numbers.md runs, one after the other in one program, and prints what the text behind it says."""
import contextlib
import io
import os
import re
import subprocess
import sys

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
