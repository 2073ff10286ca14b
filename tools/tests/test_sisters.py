# SPDX-License-Identifier: Apache-2.0
"""Sisters of the benchmarks' rows: their sizes, the comparison, the page."""
import os
import sys
import types

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "benchmarks"), os.path.join(ROOT, "benchmarks", "peers")]
import bench
import common
import macs
import rows
import sister
import sizes
import speed_page
import verdict

WITH = [row.name for row in rows.ROWS if sizes.model_of(row.name) and row.name not in sizes.ALONE]


def test_without_a_seed_a_row_has_its_own_sizes():
    assert vars(sizes.of("transformer")) == {"batch": 16, "steps": 128, "heads": 4, "head": 64, "inner": 1024}
    assert sizes.of("resnet50_infer_b8").batch == 8 and sizes.of("resnet50_infer_b1").batch == 1
    assert sizes.of("mlp_infer_b128").inputs == 784 and sizes.of("bert_infer_b8").words == 30522
    assert vars(sizes.of("noop_chain", 7)) == {}


@pytest.mark.parametrize("workload", WITH)
def test_drawn_sizes_are_in_their_ranges_and_the_seed_alone_decides(workload):
    ranges = sizes.SIZES[sizes.model_of(workload)]
    drawn = [vars(sizes.of(workload, seed)) for seed in range(200)]
    assert drawn[3] == vars(sizes.of(workload, 3)) and len({tuple(d.items()) for d in drawn}) > 8
    for found in drawn:
        for name, (own, least, largest, multiple) in ranges.items():
            if not (name == "batch" and "_infer_" in workload):
                assert least <= found[name] <= largest and found[name] % multiple == 0
            assert least < own < largest and own % multiple == 0


def test_rows_of_one_model_draw_the_same():
    assert vars(sizes.of("lstm", 5)) == vars(sizes.of("lstm_dynamic", 5)) == vars(sizes.of("lstm_pair", 5))
    assert sizes.of("resnet50_train", 5).width == sizes.of("resnet50_infer_b1", 5).width == sizes.of("resnet50_train_bf16", 5).width


def test_multiply_adds_follow_the_sizes(monkeypatch):
    for workload, macs_of_one, first in (("resnet50_train", 4089184256, 118013952), ("alexnet", 714188480, 70276800)):
        assert macs.OF[sizes.model_of(workload)](sizes.of(workload)) == (macs_of_one, first)
    monkeypatch.setattr(common, "size", sizes.of("mlp"))
    assert common.flops("mlp") == 2 * (3 * 668672 - 401408) * 128
    monkeypatch.setattr(common, "size", types.SimpleNamespace(batch=2, inputs=3, hidden=5, classes=7))
    assert common.flops("mlp") == 2 * (3 * (15 + 25 + 35) - 15) * 2
    assert common.flops("mlp_infer_b2") == 2 * 75 * 2 and common.flops("noop_chain") is None


def result(name, ours, peers):
    return {"name": name, "variant": "", "threads": 1, "value": ours, "spread": [ours, ours], "peers": peers, "items": 1, "machine": "M",
            "commit": "0123456789", "date": "2026-01-01", "ratios": {label: ours / t for label, t in peers.items()},
            "pairs": {label: [ours / t] * 5 for label, t in peers.items()}}


def test_the_ratio_to_the_fastest_peer_is_compared():
    kept = sister.pair(result("mlp", 8, {"a": 10, "b": 20}), result("mlp", 16, {"a": 40, "b": 17.6}), 7)
    assert sister.fastest(kept) == ("a", .8) and sister.fastest(kept["sister"])[0] == "b"
    assert sister.judge(kept) == "kept" and sister.change(kept) == pytest.approx(16 / 17.6 / .8)
    lost = sister.pair(result("mlp", 8, {"a": 10}), result("mlp", 9.3, {"a": 10}), 7)
    assert sister.judge(lost) == "LOST" and f"inputs {sizes.of('mlp', 7).inputs}" in sister.show(lost)


def test_both_run_in_turn(monkeypatch):
    order, options = [], types.SimpleNamespace(pairs=5, seconds=0, peers=True, sister=9)

    class Fake(bench.Program):
        def run(self, threads, seconds):
            order.append((self.label, "--sister" in self.command))
            self.results.append({self.row: {"median_s": 1, "p10_s": 1, "p90_s": 1}})
    monkeypatch.setattr(bench, "programs_of", lambda row, with_peers, seed=None: (
        [Fake("thalweg", ["x"], row.name, "", seed)], [Fake("peer", ["y"], row.name, "", seed)]))
    [found] = bench.time_sisters(rows.Row("mlp", 1, [], []), 1, options)
    assert order[:4] == [("thalweg", False), ("thalweg", True), ("peer", False), ("peer", True)] and len(order) == 20
    assert found["sister"]["seed"] == 9 and found["how"]["sister"] == 9 and verdict.of(found, "peer").paired == 1


def test_what_cannot_be_compared_is_refused(capsys):
    with pytest.raises(SystemExit):
        bench.parse(["mlp", "--sister"])
    assert "--sister compares ratios to the peers: it needs --peers" in capsys.readouterr().err
    assert bench.parse(["mlp", "--sister", "--peers"]).sister > 20260000 and bench.parse(["mlp", "--sister", "0", "--peers"]).sister == 0
    options = ["--peers", "--sister", "3", "--check"]
    for name, why in (("noop_chain", "no model of several sizes"), ("int8_resnet50", "its windows are made for pictures of 224")):
        with pytest.raises(SystemExit) as refused:
            bench.main([name, *options])
        assert f"'{name}' has no sister: " in str(refused.value) and why in str(refused.value)
    assert bench.main(["mlp", *options]) == 0
    assert "noop_chain" not in [row.name for row in sister.those_with(rows.ROWS, [])]


def test_the_page_has_losses_first():
    drawn = [sister.pair(result(name, 1, {"a": 2}), result(name, ours, {"a": 2}), 7) for name, ours in (("mlp", 1.1), ("lenet", 1.3))]
    text = "\n".join(speed_page.page([result("mlp", 1, {"a": 2})], drawn=drawn))
    lines = [line for line in text.split("## Sisters")[1].splitlines() if line.startswith(("| mlp |", "| lenet |"))]
    assert "LOST: 1.30" in lines[0] and "kept: 1.10" in lines[1]
    assert "## Sisters" not in "\n".join(speed_page.page([result("mlp", 1, {"a": 2})]))
