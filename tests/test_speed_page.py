# SPDX-License-Identifier: Apache-2.0
"""docs/speed.md is what benchmarks/speed_page.py makes of the committed results."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))
import speed_page  # noqa: E402

ROW = {"name": "mlp", "variant": "python", "threads": 2, "value": 0.002, "machine": "a machine",
       "peers": {"torch": 0.004, "jax": 0.001}, "ratios": {"torch": 0.5, "jax": 2.0}}
ROOF = {"name": "calibrate", "isa": "avx2", "machine": "a machine", "peers": {}}


def test_the_page_is_of_the_results():
    with open(os.path.join(ROOT, "docs", "speed.md")) as f:
        assert f.read() == "\n".join(speed_page.page(speed_page.load(), speed_page.load("profiles"))) + "\n"


def test_losses_are_printed():
    text = "\n".join(speed_page.page([dict(ROOF, variant="fma", value=80.), dict(ROOF, variant="fma", value=60.),
                                      dict(ROOF, variant="copy", value=12.), ROW]))
    assert "| mlp | 2 | 2 ms | 2.00 | jax 1 ms (2.00), torch 4 ms (0.50) |" in text
    assert "0 are ahead or even and 1 take more than 1.3 times as long" in text
    assert "| avx2 | 70 (60 to 80) | 12.0 (12.0 to 12.0) |" in text


def test_profiles_say_what_the_kernels_explain():
    kernel = {"op": "MatMul", "count": 1, "seconds": 0.004, "flops": 2e8, "bytes": 1e6}
    text = "\n".join(speed_page.profiles([{"workload": "mlp", "threads": 1, "median_s": 0.0045, "kernels": [kernel],
                                           "derivation": [0.004, 0.0006, -0.0001], "roof": {"fma": 100.0, "copy": 10.0}}]))
    assert text == "| mlp | 1 | 4.5 ms | 4 ms | 600 us | -100 us | 2 ms | MatMul 100% (50%) |"
