# SPDX-License-Identifier: Apache-2.0
"""Second derivatives of fused operations, against those of the same formula in single operations of 64 bits."""
import numpy as np
import pytest

import thalweg as tw


def composed(x, scale, offset, mean, variance, axes, spread, epsilon):
    """Batch normalization in single operations; moments of x unless they are given."""
    if mean is None:
        mean = tw.reduce_mean(x, axes, keep_dims=True)  # nn.moments stops a gradient, which its second derivative needs
        variance = tw.reduce_mean(tw.square(x - mean), axes, keep_dims=True)
    else:
        mean, variance = tw.reshape(mean, spread), tw.reshape(variance, spread)
    return (x - mean) / tw.sqrt(variance + epsilon) * tw.reshape(scale, spread) + tw.reshape(offset, spread)


def second(y, x, scale, offset, weights):
    """Derivatives of a sum of the derivatives of y, each with weights of its own."""
    first = tw.gradients(y, [x, scale, offset], grad_ys=weights[0])
    total = tw.add_n([tw.reduce_sum(tw.square(g) * w) for g, w in zip(first, weights[1:])])
    return tw.gradients(total, [x, scale, weights[0]])


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("training", [True, False])
def test_batch_normalization(layout, training):
    random = np.random.RandomState(3)
    shape, axes, spread = ((3, 2, 4, 5), [0, 1, 2], [1, 1, 1, 5]) if layout == "NHWC" else ((3, 5, 2, 4), [0, 2, 3], [1, 5, 1, 1])
    x, dy, w = (random.standard_normal(shape) for _ in range(3))
    scale, offset, mean, v, ws, wo = (random.uniform(0.5, 1.5, 5) for _ in range(6))
    found = []
    for kind in (np.float32, np.float64):
        with tw.Graph().as_default():
            at = [tw.constant(a.astype(kind)) for a in (x, scale, offset, mean, v, dy, w, ws, wo)]
            if kind == np.float32:
                y = tw.nn.fused_batch_norm(at[0], at[1], at[2], *((None, None) if training else at[3:5]), epsilon=0.01, data_format=layout, is_training=training)[0]
            else:
                y = composed(at[0], at[1], at[2], *((None, None) if training else at[3:5]), axes, spread, 0.01)
            with tw.Session() as session:
                found.append(session.run(second(y, at[0], at[1], at[2], at[5:])))
    for fused, single in zip(*found):
        np.testing.assert_allclose(fused, single, rtol=2e-4, atol=2e-4 * np.abs(single).max())
