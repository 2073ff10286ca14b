# SPDX-License-Identifier: Apache-2.0
"""Each block of docs/howto/embed_a_model.md runs, one after the other in one folder, against what `./dev install` installs, and prints
what the text behind it says."""
import contextlib
import io
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def ran(command, environment):
    p = subprocess.run(["bash", "-euo", "pipefail", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                       timeout=120)
    assert p.returncode == 0 and p.stderr == "", command + p.stdout + p.stderr
    return p.stdout


def agrees(said, wanted):
    """`...` at the end of what is wanted stands for the rest."""
    head, rest = (wanted[:-len("...\n")], True) if wanted.endswith("...\n") else (wanted, False)
    return said.startswith(head) if rest else said == head


def test_each_block(tmp_path, monkeypatch):
    prefix, folder = tmp_path / "prefix", tmp_path / "work"
    folder.mkdir()
    subprocess.run(["cmake", "--install", os.path.join(ROOT, "build", "release"), "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL, timeout=300)
    monkeypatch.chdir(folder)
    environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib" / "pkgconfig"), LD_LIBRARY_PATH=str(prefix / "lib"),
                       PATH=os.pathsep.join([str(prefix / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]]))
    with open(os.path.join(ROOT, "docs", "howto", "embed_a_model.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```$", f.read(), re.MULTILINE | re.DOTALL)
    names, said = {}, ""
    for language, name, text in blocks:
        if language == "text":
            assert agrees(said, text), f"{said}\n--- is not ---\n{text}"
        elif language == "python":
            said_here = io.StringIO()
            with contextlib.redirect_stdout(said_here):
                exec(compile(text, "embed_a_model.md", "exec"), names)
            said = said_here.getvalue()
        elif language == "sh":
            said = ran(text, environment)
        else:
            (folder / name).write_text(text)
    assert [b[0] for b in blocks].count("text") == 8
