# SPDX-License-Identifier: Apache-2.0
"""tools/build_progress.py: shares and minutes by recorded weight, few lines in a log, and every word of a compiler."""
import io
import os
import subprocess
import sys

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOOLS)
import build_progress
from build_progress import MARK


def test_steps_weigh_what_the_log_says_and_else_the_mean_of_their_kind():
    steps = ["Building CXX object a.o", "Building CXX object b.o", "Linking CXX executable bin/a", "Generating x.h, x.cc", "Making sense"]
    found = build_progress.weights(steps, {"a.o": 8.0, "c.o": 4.0, "bin/c": 2.0, "x.cc": 6.0})
    assert list(found.values()) == [8.0, 6.0, 2.0, 6.0, 2.0]
    assert build_progress.weights(["Copying a.txt"], {"a.o": 8.0, "b": 4.0}) == {"Copying a.txt": 6.0}
    assert set(build_progress.weights(steps, {}).values()) == {1.0}


def test_share_and_minutes_left_go_by_weight():
    progress = build_progress.Progress({"slow": 30.0, "quick": 10.0})
    progress.finish("1 2", "quick")
    assert progress.line(60) == "1 of 2 steps, 25 %, 3 min left"
    assert progress.line(5) == "1 of 2 steps, 25 %"  # too early to say
    progress.finish("2 2", "slow")
    assert progress.line(240) == "2 of 2 steps, 100 %"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def followed(out, seconds_a_step):
    clock = iter(range(0, 10**6, seconds_a_step))
    display = build_progress.Display(out, now=lambda: next(clock))
    lines = [f"{MARK}{n} 100{MARK}Building CXX object {n}.o\n" for n in range(1, 101)]
    lines[50:50] = ["a.cc:3: warning: unused\n", "   3 | int x;\n"]
    build_progress.follow(lines, build_progress.Progress({f"Building CXX object {n}.o": 1.0 for n in range(1, 101)}), display)
    return out.getvalue()


def test_a_log_has_few_lines_and_whole_warnings():
    text = followed(io.StringIO(), 5)
    assert "a.cc:3: warning: unused\n   3 | int x;\n" in text
    lines = [line for line in text.splitlines() if " steps, " in line]
    assert 3 < len(lines) <= 100 * 15 / build_progress.EVERY and "\r" not in text


def test_a_terminal_has_one_line_that_warnings_do_not_share():
    text = followed(Terminal(), 1)
    assert text.count("\r\x1b[K") == 101 and text.count("\n") == 2
    assert "\r\x1b[Ka.cc:3: warning: unused\n   3 | int x;\n" in text


NINJA = """
rule ok
  command = echo warned about $out && touch $out
  description = Building CXX object $out
rule bad
  command = echo first line; echo last line; exit 3
  description = Building CXX object $out
rule again
  command = touch build.ninja
  description = Making build.ninja
build build.ninja: again list
build a.o: ok
build b.o: ok
build c.o: bad
"""


def test_a_real_build(tmp_path):
    (tmp_path / "build.ninja").write_text(NINJA)
    (tmp_path / "list").write_text("younger than build.ninja, which must be made anew")
    os.utime(tmp_path / "build.ninja", (1, 1))
    environment = dict(os.environ, NINJA_STATUS=build_progress.STATUS)
    assert build_progress.steps_to_come(str(tmp_path), ["a.o", "b.o"], environment) == ["Building CXX object a.o", "Building CXX object b.o"]

    def built(*targets):
        return subprocess.run([sys.executable, os.path.join(TOOLS, "build_progress.py"), str(tmp_path), "2", *targets],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    p = built("a.o", "b.o")
    assert p.returncode == 0 and "warned about a.o\n" in p.stdout and p.stdout.endswith("(a.o b.o): built, 2 steps in 0 s\n")
    assert built("a.o").stdout == f"{tmp_path} (a.o): built, nothing to do\n"
    p = built()
    assert p.returncode == 1 and "first line\nlast line\n" in p.stdout and "FAILED: c.o" in p.stdout
    assert p.stdout.splitlines()[-1].startswith(f"{tmp_path} (all): NOT built, after ")
