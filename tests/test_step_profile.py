# SPDX-License-Identifier: Apache-2.0
"""`./dev bench ROW --profile`: the work it counts, and the table it prints."""
import json
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCHMARKS = os.path.join(ROOT, "benchmarks")
sys.path.insert(0, BENCHMARKS)
import step_profile


def profile(row):
    p = subprocess.run([sys.executable, os.path.join(BENCHMARKS, "thalweg_.py"), row, "--variant", "profile", "--seconds", "0.01"],
                       stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(p.stdout)


def test_the_work_of_a_small_net_is_counted(capsys):
    result = profile("mlp_infer_b1")
    kernels = {k["op"]: k for k in result["kernels"]}
    products = sum(k["flops"] for op, k in kernels.items() if "MatMul" in op)
    assert products == 2 * (784 * 512 + 512 * 512 + 512 * 10)
    assert sum(k["count"] for op, k in kernels.items() if "MatMul" in op) == 3
    assert sum(k["seconds"] for k in kernels.values()) <= result["traced_s"]
    step_profile.show(result, {"fma": 100.0, "copy": 10.0})
    assert "MatMul" in capsys.readouterr().out
    engine = {"step": 1e-6, "node": 1e-8}
    kernels, overhead, left = step_profile.derivation(result, engine)
    assert overhead == pytest.approx(1e-6 + 1e-8 * sum(k["count"] for k in result["kernels"]))
    assert kernels + overhead + left == pytest.approx(result["median_s"])
    assert 4 * 512 <= result["peak_bytes"] <= 16 * 512
    step_profile.show_derivation(result, engine)
    assert "engine" in capsys.readouterr().out


@pytest.mark.parametrize("op, attrs, ins, outs, flops", [
    ("MatMul", {"transpose_a": True}, [[7, 2], [7, 5]], [[2, 5]], 2 * 7 * 2 * 5),
    ("BatchMatMulV2", {"adj_x": False}, [[4, 2, 7], [4, 7, 5]], [[4, 2, 5]], 2 * 4 * 7 * 2 * 5),
    ("Conv2D", {}, [[1, 8, 8, 3], [5, 5, 3, 6]], [[1, 8, 8, 6]], 2 * 8 * 8 * 6 * 75),
    ("Conv2DBackpropInput", {}, [[4], [5, 5, 3, 6], [1, 8, 8, 6]], [[1, 8, 8, 3]], 2 * 8 * 8 * 6 * 75),
    ("Conv2DBackpropFilter", {}, [[1, 8, 8, 3], [4], [1, 8, 8, 6]], [[5, 5, 3, 6]], 2 * 8 * 8 * 6 * 75),
    ("Sum", {}, [[10, 10], [1]], [[10]], 100), ("Reshape", {}, [[10], [2]], [[5, 2]], 0), ("Relu", {}, [None], [None], 0),
    ("SparseApplyAdagrad", {}, [[1000, 16], [1000, 16], [], [8, 16], [8]], [[1000, 16]], 8 * 16)])
def test_flops(op, attrs, ins, outs, flops):
    assert step_profile.flops_of(op, attrs.get, ins, outs) == flops


def test_a_sparse_update_moves_the_rows_of_its_gradient():
    shapes = [[1000, 16], [1000, 16], [], [8, 16], [8]]
    assert step_profile.bytes_of("SparseApplyAdagrad", shapes, [[1000, 16]], [4, 4, 4, 4, 8, 4]) == 5 * 8 * 16 * 4
