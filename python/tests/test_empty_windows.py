# SPDX-License-Identifier: Apache-2.0
"""Windows that are larger than the image, of which nothing is known before the step: as in TensorFlow the output is empty, and
gradients are zeros, while less than two strides are missing."""
import numpy as np
import pytest
import thalweg as tw

FILTER = np.ones([3, 3, 3, 8], np.float32)
MAKE = {
    "conv2d": (lambda x, f, s: tw.nn.conv2d(x, f, [1, s, s, 1], "VALID"), FILTER),
    "depthwise": (lambda x, f, s: tw.nn.depthwise_conv2d(x, f, [1, s, s, 1], "VALID"), FILTER),
    "max_pool": (lambda x, f, s: tw.nn.max_pool(x, [1, 3, 3, 1], [1, s, s, 1], "VALID"), None),
    "avg_pool": (lambda x, f, s: tw.nn.avg_pool(x, [1, 3, 3, 1], [1, s, s, 1], "VALID"), None),
}


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("size, stride", [(2, 1), (1, 2), (2, 2)])
def test_empty_output(name, size, stride):
    make, kernel = MAKE[name]
    x = tw.placeholder(tw.float32)
    by = [x] if kernel is None else [x, tw.placeholder(tw.float32)]
    y = make(x, by[-1], stride)
    image = np.ones([1, size, size, 3], np.float32)
    with tw.Session() as session:
        made, *gradients = session.run([y, *tw.gradients(y, by)], dict(zip(by, [image, kernel])))
    assert made.shape[1:3] == (0, 0)
    assert [g.shape for g in gradients] == [image.shape, FILTER.shape][:len(by)]
    assert not any(g.any() for g in gradients)


@pytest.mark.parametrize("name", MAKE)
def test_two_strides_are_missing(name):
    make, kernel = MAKE[name]
    x, f = tw.placeholder(tw.float32), tw.placeholder(tw.float32)
    with tw.Session() as session, pytest.raises(tw.errors.InvalidArgumentError, match="^Computed output size would be negative: -1 "):
        session.run(make(x, f, 1), {x: np.ones([1, 1, 1, 3]), f: FILTER if kernel is None else kernel})


def test_gradient_of_another_size():
    x, f = tw.placeholder(tw.float32), tw.placeholder(tw.float32)
    with tw.Session() as session, pytest.raises(tw.errors.InvalidArgumentError, match="Conv2DCustomBackpropInput: Size of out_backprop doesn't "
                                                "match computed: actual = 5, computed = 6 spatial_dim: 1 input: 12 filter: 3 output: 5 stride: 2"):
        session.run(tw.nn.conv2d_transpose(x, f, [1, 12, 12, 3], [1, 2, 2, 1]), {x: np.ones([1, 5, 5, 8]), f: FILTER})
