# SPDX-License-Identifier: Apache-2.0
"""benchmarks/bench.py: medians, pairs, verdicts and JSON, with programs that print made-up figures."""
import math
import os
import sys
import types

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))
import bench
import results_folder
import rows
import verdict


def options(pairs=5, **more):
    return types.SimpleNamespace(pairs=pairs, seconds=0, peers=True, threads=None, names=[], sister=None, **more)


def fake(tmp_path, name, seconds):
    """A program whose n-th run prints the n-th of these medians."""
    count = tmp_path / (name + ".count")
    script = tmp_path / name
    script.write_text(f"""#!{sys.executable}
import json, os
n = os.path.getsize({str(count)!r}) if os.path.exists({str(count)!r}) else 0
open({str(count)!r}, "a").write("x")
m = {seconds!r}[n]
print("chatter")
print(json.dumps(dict(median_s=m, p10_s=m / 2, p90_s=m * 2)))
""")
    script.chmod(0o755)
    return bench.Program(name, [str(script)], "row", "")


def time(monkeypatch, ours, peers, pairs=5):
    monkeypatch.setattr(bench, "programs_of", lambda row, with_peers: (ours, peers))
    return bench.time_row(rows.Row("row", 1, [], []), 1, options(pairs=pairs))


def test_medians_and_verdicts(tmp_path, monkeypatch):
    ours = fake(tmp_path, "ours", [1, 3, 2, 2, 2])
    slower = fake(tmp_path, "slower", [2, 2, 4, 4, 4])  # one pair of five above 1: still ahead
    uneven = fake(tmp_path, "uneven", [.5, 2, 4, 4, 4])  # two of five above
    faster = fake(tmp_path, "faster", [1, 1, 1, 1, 1])
    [r] = time(monkeypatch, [ours], [slower, uneven, faster])
    assert r["value"] == 2 and r["spread"] == [1, 4] and r["unit"] == "s" and r["better"] == "lower"
    assert r["peers"] == {"slower": 4, "uneven": 4, "faster": 1}
    assert r["ratios"] == {"slower": .5, "uneven": .5, "faster": 2}
    assert r["pairs"]["uneven"] == [2, 1.5, .5, .5, .5]
    assert [verdict.of(r, label).verdict for label in ("slower", "uneven", "faster")] == ["ahead", "undecided", "behind"]
    assert r["machine"] and r["command"] and r["threads"] == 1 and r["how"] == {"pairs": 5, "seconds": 0, "peers": True}
    assert r["commit"] and r["date"].endswith("UTC")
    bench.print_result(r)


def several(tmp_path, name, scale):
    """A program that measures two things at once."""
    script = tmp_path / name
    script.write_text(f"""#!{sys.executable}
import json
for row, m in ("row_1", 1), ("row_2", 2):
    print(json.dumps(dict(row=row, median_s=m * {scale}, p10_s=m * {scale}, p90_s=m * {scale}, per_second=10 / m)))
""")
    script.chmod(0o755)
    return bench.Program(name, [str(script)], "row", "")


def test_lines_that_name_their_rows_are_rows_of_their_own(tmp_path, monkeypatch):
    one, two = time(monkeypatch, [several(tmp_path, "ours", 1)], [several(tmp_path, "theirs", 4)])
    assert (one["name"], one["value"], two["name"], two["value"]) == ("row_1", 1, "row_2", 2)
    assert two["peers"] == {"theirs": 8} and two["peers_spread"] == {"theirs": [8, 8]} and two["ratios"] == {"theirs": .25}
    assert two["per_second"] == {"ours": 5, "theirs": 5}


def first(tmp_path, name, values):
    """A program that tells its first results."""
    script = tmp_path / name
    script.write_text(f"#!{sys.executable}\nprint('{{\"median_s\": 1, \"p10_s\": 1, \"p90_s\": 1, \"first\": {values}}}')\n")
    script.chmod(0o755)
    return bench.Program(name, [str(script)], "row", "")


def test_a_peer_with_other_first_results_gives_no_figure(tmp_path, monkeypatch, capsys):
    peers = [first(tmp_path, name, values) for name, values in (
        ("near", "[[2.001, 0.001], [900]]"), ("far", "[[2, 0.003], [900]]"), ("short", "[[2], [900]]"), ("fewer", "[[2, 0]]"),
        ("broken", "[[2, NaN], [900]]"))]
    [r] = time(monkeypatch, [first(tmp_path, "ours", "[[2, 0], [900]]")], [*peers, fake(tmp_path, "silent", [1] * 5)])
    assert sorted(r["peers"]) == ["near", "silent"]
    told = capsys.readouterr().out
    assert "far: no figure: its first results differ from ours by 0.0015 of the largest" in told
    assert all(f"{name}: no figure" in told for name in ("short", "fewer", "broken"))


@pytest.mark.parametrize("ours, theirs, part", [
    ([[0, 0]], [[0, 0]], 0), ([[0, 0]], [[0, 1e-9]], math.inf), ([[]], [[]], 0), ([[2]], [[1]], .5), ([[math.inf]], [[1]], math.inf),
    ([[math.inf]], [[math.inf]], math.inf), ([[math.nan]], [[math.nan]], math.inf), ([[50000], [1]], [[50000], [.5]], .5)])
def test_how_far_first_results_differ(ours, theirs, part):
    assert bench.difference(ours, theirs) == part


def test_goals_are_of_the_first_program_and_misses_are_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "programs_of", lambda row, with_peers: ([fake(tmp_path, "a", [2] * 5), fake(tmp_path, "b", [1] * 5)], []))
    first, second = bench.time_row(rows.Row("row", 1, [], [], 1.5), 1, options())
    assert first["goal"] == 1.5 and "goal" not in second
    bench.print_result(first)
    assert "goal 1.5 s: MISSED" in capsys.readouterr().out


def test_absent_peer_is_said_and_left_out(tmp_path, monkeypatch, capsys):
    absent = bench.Program("absent", ["/nowhere/python"], "row", "")
    [r] = time(monkeypatch, [fake(tmp_path, "ours", [1] * 5)], [absent])
    assert r["peers"] == {} and "absent: no figure: " in capsys.readouterr().out


def test_names_are_exact_and_globs_explicit():
    assert [r.name for r in bench.choose(["noop_chain"])] == ["noop_chain"]
    assert [r.name for r in bench.choose(["noop_*"])] == ["noop_chain", "noop_wide"]
    with pytest.raises(SystemExit):
        bench.choose(["noop"])


def test_rows_are_those_of_the_definitions():
    text = open(os.path.join(ROOT, "benchmarks", "peers", "workloads.md")).read()
    text = text.replace("bert_infer_b1, _b8", "bert_infer_b1 bert_infer_b8")
    text = text.replace("resnet50_infer_b1, _b8", "resnet50_infer_b1 resnet50_infer_b8").replace("mlp_infer_b1, _b128", "mlp_infer_b1 mlp_infer_b128")
    assert [r.name for r in rows.ROWS if r.name not in text] == []
    for row in rows.ROWS:
        for _, script, _ in row.peers:
            assert os.path.exists(os.path.join(ROOT, "benchmarks", "peers", script))


def test_seconds_are_shown_in_units():
    assert [bench.show_seconds(s) for s in (2, .0015, 2.5e-6, 3e-9)] == ["2 s", "1.5 ms", "2.5 us", "3 ns"]


@pytest.mark.parametrize("paired, of_medians, pairs, expected", [
    (.8, .85, [.7, .8, .9], "ahead"), (1.2, 1.25, [], "behind"), (.96, 1.04, [], "even"),
    (.85, 1.19, [], "undecided"), (1.19, .85, [], "undecided"),  # one above, one below
    (1.08, 1.33, [], "undecided"), (.71, .90, [], "undecided"),  # too far apart, and near to 1
    (.33, .43, [], "ahead"), (2.0, 1.6, [], "behind"),           # too far apart, and it matters to nobody
    (.8, .8, [.7, .8, .8, 1.1, 1.2], "undecided"), (.8, .8, [.7, .8, .8, .8, 1.2], "ahead"),
    (1.5, 1.5, [.9, .9, 1.5, 1.6, 1.7], "undecided")])
def test_a_verdict_needs_both_figures_and_the_pairs(paired, of_medians, pairs, expected):
    assert verdict.judge(paired, of_medians, pairs) == expected


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """(measure, folder): `measure(names)` goes through made-up rows of these names and gives those that were measured, one run each."""
    done = []

    def time_row(row, threads, _):
        done.append(row.name)
        if row.name == "stopped":
            raise KeyboardInterrupt
        return [] if row.name == "silent" else [dict(name=row.name, variant="", threads=threads, value=1, spread=[1, 1], items=1, peers={},
                                                     **results_folder.stamp(bench.machine()[0]), how=bench.how(options()))]
    monkeypatch.setattr(bench, "time_row", time_row)
    monkeypatch.setattr(bench, "calibrate", lambda: [{"name": "calibrate"}])

    def measure(*names, pairs=5):
        done.clear()
        try:
            bench.into_folder([rows.Row(name, 1, [], []) for name in names], options(folder=str(tmp_path), pairs=pairs))
        except KeyboardInterrupt:
            pass
        return done
    return measure, tmp_path


def test_a_run_into_a_folder_can_be_stopped_and_goes_on(folder):
    measure, path = folder
    assert measure("a", "stopped", "b") == ["a", "a", "stopped"]  # on one thread and on two
    assert sorted(os.listdir(path)) == ["a_1.json", "a_2.json"]
    assert measure("a", "b") == ["b", "b"] and measure("a", "b") == []


def test_what_was_measured_otherwise_is_measured_again(folder, monkeypatch):
    measure, _ = folder
    assert measure("a") == ["a", "a"] and measure("a") == [] and measure("a", pairs=7) == ["a", "a"]
    monkeypatch.setattr(results_folder, "commit", lambda: "another")
    assert measure("a") == ["a", "a"] and measure("a") == []


def test_a_row_without_a_figure_is_named_and_not_kept(folder, capsys):
    measure, path = folder
    measure("silent", "a")
    assert "no figure: silent x1, silent x2" in capsys.readouterr().out and sorted(os.listdir(path)) == ["a_1.json", "a_2.json"]


def test_all_rows_beside_their_peers_go_into_a_folder_on_one_thread_and_two():
    chosen = bench.parse(["--peers"])
    assert chosen.folder.endswith("build/bench")
    assert bench.threads_of(rows.Row("mlp", 1, [], []), chosen) == [1, 2]
    assert bench.threads_of(rows.Row("wire_read_1G", 1, [], []), chosen) == [2]  # its processes would share one core
    assert bench.parse(["mlp", "--peers"]).folder is None and bench.threads_of(rows.Row("mlp", 1, [], []), bench.parse(["mlp"])) == [1]
    with pytest.raises(SystemExit):
        bench.parse(["--folder", "x", "--json", "y"])
