# SPDX-License-Identifier: Apache-2.0
"""What kernels of /device:GPU:0 cannot do, of which their operations allow more, the CPU's do in their place: no step fails."""
import numpy as np
import pytest
import thalweg as tw

GPU, CPU = "/device:GPU:0", "/cpu:0"
random = np.random.RandomState(5)


def floats(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


CASES = {
    "a product of nine dimensions": (lambda x: tw.matmul(x, x, transpose_b=True), floats(1, 2, 1, 2, 1, 2, 1, 2, 3)),
    "a sum over every other of eighteen dimensions": (lambda x: tw.reduce_sum(x, list(range(0, 18, 2))), floats(*[2, 1] * 2, *[2] * 14)),
    "a product within a chain": (lambda x: tw.tanh(tw.matmul(tw.exp(x), x, transpose_b=True)) * 2.0, floats(1, 2, 1, 2, 1, 2, 1, 2, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_cpu_steps_in(name):
    function, value = CASES[name]

    def run(device):
        with tw.Graph().as_default(), tw.device(device):
            x = tw.placeholder(tw.float32, value.shape)
            y = function(x)
            with tw.Session(config=tw.ConfigProto(allow_soft_placement=False)) as session:
                return [session.run(y, {x: value}) for _ in range(2)]  # the second time with what is kept of the first
    for expected, found in zip(run(CPU), run(GPU)):
        assert expected.shape == found.shape
        np.testing.assert_allclose(expected, found, rtol=1e-5, atol=1e-6)


def test_its_errors_are_the_cpus():
    with tw.Graph().as_default(), tw.device(GPU):
        x, y = tw.placeholder(tw.float32), tw.placeholder(tw.float32)
        z = tw.raw_ops.BatchMatMulV2(x=x, y=y)
        with tw.Session(config=tw.ConfigProto(allow_soft_placement=False)) as session:
            with pytest.raises(tw.errors.InvalidArgumentError, match="BatchMatMulV2"):
                session.run(z, {x: floats(1, 1, 1, 1, 1, 1, 1, 2, 3), y: floats(1, 1, 1, 1, 1, 1, 1, 2, 3)})
