# SPDX-License-Identifier: Apache-2.0
"""Each block of docs/howto/train_with_keras.md runs, one after the other in one program, and prints what the text behind it says."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
END = "--- end of block ---"


def test_each_block(tmp_path):
    with open(os.path.join(ROOT, "docs", "howto", "train_with_keras.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```(python|text)\n(.*?)^```$", f.read(), re.MULTILINE | re.DOTALL)
    programs, said = ([text for kind, text in blocks if kind == wanted] for wanted in ("python", "text"))
    assert len(programs) == len(said) == 10
    (tmp_path / "program.py").write_text("".join(f"{text}print({END!r})\n" for text in programs))
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", "program.py"], capture_output=True, text=True, check=False,
                          cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split(END + "\n")[:-1] == said
