# SPDX-License-Identifier: Apache-2.0
"""tools/build_times.py adds up a build's log by room, and counts a step once."""
import os
import sys

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOOLS)
import build_times

LOG = """# ninja log v5
0\t2000\t1\tthalweg/io/CMakeFiles/thalweg_io.dir/table.cc.o\ta1
0\t9000\t2\tthalweg/io/CMakeFiles/thalweg_io.dir/table.cc.o\ta2
500\t1500\t1\tthalweg/io/CMakeFiles/io_test.dir/table_test.cc.o\tb
0\t4000\t1\tgenerated/messages.h\tc
0\t4000\t1\tgenerated/messages.cc\tc
0\t3000\t1\tbin/io_test\td
"""


def test_last_run_of_each_step_counts_once(tmp_path):
    (tmp_path / ".ninja_log").write_text(LOG)
    seconds = build_times.read_log(tmp_path / ".ninja_log")
    assert sorted(seconds.values()) == [1.0, 3.0, 4.0, 9.0]
    report = build_times.report(seconds, 2)
    assert "9.0   52.9 %  thalweg/io\n" in report
    assert "tests of thalweg/io" in report and "linking" in report
    assert report.startswith("4 steps, 0.3 minutes")


def test_a_folder_without_a_build_is_named(tmp_path, capsys):
    assert build_times.main(str(tmp_path)) == 1
    assert str(tmp_path) in capsys.readouterr().err
