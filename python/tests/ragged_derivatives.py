# SPDX-License-Identifier: Apache-2.0
"""Gradients by the values of rows. ragged_cases.py says how to read it."""

EXPRESSIONS = """
t.gradients(?, real.flat_values)[0]: t.reduce_sum(real * real, 1); t.reduce_max(real, 1); t.reduce_mean(t.exp(real), 0)
t.gradients(?, real.flat_values)[0]: t.where(real > 1.0, real, real * 3.0).flat_values; t.expand_dims(real, 1).flat_values * 3.0
t.convert_to_tensor(t.gradients(?.flat_values, real.flat_values)[0]): t.gather(real, [3, 0]); t.tile(real, [2, 2])
t.convert_to_tensor(t.gradients((real * [[1.0], [2.0], [3.0], [4.0]]).flat_values, real.flat_values)[0])
t.convert_to_tensor(t.gradients(t.concat([real, real], 1).flat_values * 2.0, real.flat_values)[0])
t.convert_to_tensor(t.gradients(t.gather_nd(real, [[0, 1], [3, 2]]), real.flat_values)[0])
"""
