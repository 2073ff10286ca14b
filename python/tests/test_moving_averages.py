# SPDX-License-Identifier: Apache-2.0
"""Moving averages in variables; values and names are those of TensorFlow 1.15."""
import numpy as np
import thalweg as tw
from thalweg.training import moving_averages


def test_as_recorded():
    with tw.variable_scope("net"):
        biased = tw.get_variable("avg", initializer=np.float32([0, 0]), trainable=False)
        plain = tw.get_variable("plain", initializer=np.float32([1, 2]), trainable=False)
    x = tw.placeholder(tw.float32, [2])
    averages = [moving_averages.assign_moving_average(biased, x, 0.9),
                moving_averages.assign_moving_average(plain, x, 0.9, zero_debias=False),
                moving_averages.weighted_moving_average(x, 0.5, tw.constant(2.0))]
    assert [v.name for v in tw.global_variables()] == [
        "net/avg:0", "net/plain:0", "net/avg/biased:0", "net/avg/local_step:0", "WeightedMovingAvg/value_x_weight:0",
        "WeightedMovingAvg/weight:0"]
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        found = [sess.run(averages, {x: row}) for row in ([1, 2], [3, 5], [4, 4])]
    np.testing.assert_allclose(found, [[[1, 2], [1, 2], [1, 2]], [[2.0526311, 3.5789464], [1.2, 2.3], [2.3333333, 4]],
                                       [[2.7712171, 3.7343161], [1.48, 2.47], [3.2857144, 4]]], rtol=1e-5)
