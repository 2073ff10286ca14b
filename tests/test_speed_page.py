# SPDX-License-Identifier: Apache-2.0
"""docs/speed.md is what benchmarks/speed_page.py makes of the committed results."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))
import cluster_page  # noqa: E402
import results_folder  # noqa: E402
import speed_page  # noqa: E402

ROW = {"name": "mlp", "variant": "python", "threads": 2, "value": 0.002, "machine": "a machine",
       "peers": {"torch": 0.004, "jax": 0.001}, "ratios": {"torch": 0.5, "jax": 2.0}}
ROOF = {"name": "calibrate", "isa": "avx2", "machine": "a machine", "peers": {}}


def test_the_page_is_of_the_results():
    with open(os.path.join(ROOT, "docs", "speed.md")) as f:
        assert f.read() == speed_page.text()


def test_losses_are_printed():
    text = "\n".join(speed_page.page([dict(ROOF, variant="fma", value=80.), dict(ROOF, variant="fma", value=60.),
                                      dict(ROOF, variant="copy", value=12.), ROW]))
    assert "| mlp | 2 | 2 ms | behind | jax 1 ms: 2.00 / 2.00 behind; torch 4 ms: 0.50 / 0.50 ahead | – |" in text
    assert "0 are ahead, 0 even, 0 undecided, 1 behind" in text and "by one of the two figures at least, takes mlp on 2 threads." in text
    assert "were measured before 24 November 2026" in text
    assert "| avx2 | 70 (60 to 80) | 12.0 (12.0 to 12.0) | – |" in text


def test_rows_of_several_machines_are_told_apart():
    other = dict(ROW, name="gru", machine="a third one")
    text = "\n".join(speed_page.page([dict(r, machine=machine, value=value) for machine, value in (("a machine", 80.), ("a third one", 50.))
                                      for r in (dict(ROOF, variant="fma"), dict(ROOF, variant="copy"))] + [ROW, other]))
    assert "- A: a machine\n- B: a third one\n" in text
    assert "| avx2 A | 80 (80 to 80) |" in text and "| avx2 B | 50 (50 to 50) |" in text
    mlp, = (line for line in text.split("\n") if line.startswith("| mlp |"))
    gru, = (line for line in text.split("\n") if line.startswith("| gru |"))
    assert mlp.endswith("| – A |") and gru.endswith("| – B |")


def test_figures_that_do_not_agree_are_undecided_and_new_results_say_when_and_where():
    row = dict(ROW, peers={"torch": 0.0017}, ratios={"torch": 0.85}, pairs={"torch": [0.7, 0.8, 0.85, 0.9, 1.5]}, spread=[0.001, 0.003],
               peers_spread={"torch": [0.0015, 0.004]}, commit="7d40a6dabcde", date="2026-11-25 10:00 UTC")
    text = "\n".join(speed_page.page([dict(ROOF, variant="fma", value=80.), dict(ROOF, variant="copy", value=12.), row]))
    assert ("| mlp | 2 | 2 ms [1 ms to 3 ms] | undecided | torch 1.7 ms [1.5 ms to 4 ms]: 0.85 [0.70..1.50] / 1.18 undecided | "
            "7d40a6d 2026-11-25 |") in text
    assert "0 are ahead, 0 even, 1 undecided, 0 behind" in text and "24 November" not in text


def test_profiles_say_what_the_kernels_explain():
    kernel = {"op": "MatMul", "count": 1, "seconds": 0.004, "flops": 2e8, "bytes": 1e6}
    text = "\n".join(speed_page.profiles([{"workload": "mlp", "threads": 1, "median_s": 0.0045, "kernels": [kernel],
                                           "derivation": [0.004, 0.0006, -0.0001], "roof": {"fma": 100.0, "copy": 10.0}}]))
    assert text == "| mlp | 1 | 4.5 ms | 4 ms | 600 us | -100 us | 2 ms | MatMul 100% (50%) | – |"


def test_processor_time_stands_beside_that_of_others():
    text = "\n".join(speed_page.processor([{"name": "data_jpeg", "threads": 2, "processor_s": {"ours": 0.06, "tensorflow": 0.08, "data": 0.02},
                                            "machine": "a machine", "commit": "0123456789ab", "date": "2026-11-28 04:00 UTC"}]))
    assert text == "| data_jpeg | 2 | 60 ms | tensorflow-2.21 80 ms: 0.75; data 20 ms: 3.00 | a machine | 0123456 2026-11-28 |"


def cluster_row(name, value, peers, **more):
    return {"name": name, "variant": "python", "threads": 2, "value": value, "spread": [value, value], "machine": "a machine",
            "peers": peers, "peers_spread": {label: [v, v] for label, v in peers.items()},
            "ratios": {label: value / v for label, v in peers.items()}, **more}


def test_rows_of_clusters_say_goals_that_were_missed_and_what_is_slower():
    tf = cluster_page.TF
    text = "\n".join(speed_page.page([
        dict(ROOF, variant="fma", value=80.), dict(ROOF, variant="copy", value=12.), ROW,
        cluster_row("wire_read_1G", 0.2, {tf: 0.8, f"{tf} client, our servers": 0.4}, goal=0.1),
        cluster_row("channel_4B", 4e-6, {}, goal=5e-6),
        cluster_row("fig7_sparse_1G_2", 0.001, {tf: 0.01}, per_second={"thalweg python": 2000, tf: 200}),
        cluster_row("fig7_sparse_16G_2", 0.002, {tf: 0.001}, per_second={"thalweg python": 1000, tf: 2000})]))
    assert "1 measurements. Beside" in text and "| mlp |" in text  # engines are counted without clusters
    assert "| read_1G † | 200 ms [200 ms to 200 ms] | 100 ms: not measured † | 800 ms [800 ms to 800 ms] | † | 400 ms (0.50) |  | – |" in text
    assert "† Measured by an old method" in text
    assert "| 4B | 4 us | 5 us: met | – |" in text
    assert "| sparse_16G | 2 | 2 ms [2 ms to 2 ms] | 1000 | 1 ms [1 ms to 1 ms] | 2000 | 2.000 / 2.000 behind | – |" in text
    assert "Of 2 measurements, 1 are not ahead of TensorFlow: sparse_16G_2 (behind)." in text
    assert "A sparse step of 16 GB takes 2.00 times one of 1 GB" in text


def test_rows_that_read_all_of_it_meet_goals_or_miss_them():
    row = cluster_row("wire_read_1G", 0.2, {cluster_page.TF: 0.8}, goal=0.1, commit="7d40a6dabcde", date="2026-11-25 10:00 UTC")
    assert cluster_page.goal_cell(row) == "100 ms: **missed**"
    assert next(cluster_page.wire([row])) == (
        "| read_1G | 200 ms [200 ms to 200 ms] | 100 ms: **missed** | 800 ms [800 ms to 800 ms] | 0.250 / 0.250 ahead |  |  | 7d40a6d 2026-11-25 |")


def test_every_committed_result_says_when_and_at_which_commit():
    results = speed_page.load() + speed_page.load("profiles") + speed_page.load("processor")
    assert len(results) > 400 and "–" not in {results_folder.measured(r) for r in results}


def test_a_result_that_did_not_keep_its_commit_names_the_one_that_brought_it():
    row = dict(ROW, came_with="7d40a6dabcde", came_on="2026-11-22 10:00 UTC")
    assert results_folder.measured(row) == "with 7d40a6d 2026-11-22"
    assert cluster_page.read_in_part(dict(row, name="wire_read_1G"))  # it still does not know its own
