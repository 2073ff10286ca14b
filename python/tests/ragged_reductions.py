# SPDX-License-Identifier: Apache-2.0
"""Sums, means and the like along dimensions and of segments, and what adds up on its way. ragged_cases.py says how to read it."""

EXPRESSIONS = """
reduce_sum reduce_mean reduce_max reduce_min reduce_prod: rows; rows, 0; rows, 1
reduce_sum: rows, -1; rows, -2; rows, [0, 1]; rows, [1, 0]; rows, [1]; rows, [-1]; rows, [0, 0]; rows, []
reduce_sum: rows, 2; rows, -3; rows, [0, 2]; rows, "x"; rows, t.constant(1); rows, t.constant([0, 1])
reduce_sum: rows, 1, keepdims=True; rows, 0, keepdims=True; rows, keepdims=True; rows, [0, 1], keepdims=True
reduce_sum: deep; deep, 0; deep, 1; deep, 2; deep, -1; deep, -3; deep, [0, 1]; deep, [1, 2]; deep, [0, 2]; deep, [0, 1, 2]; deep, [2, -3]
reduce_sum: deep, 1, keepdims=True; deep, [1, 2], keepdims=True
reduce_sum: pairs; pairs, 0; pairs, 1; pairs, 2; pairs, -1; pairs, [1, 2]; pairs, [0, 2]; pairs, 2, keepdims=True
reduce_sum: small, 1; none, 1; none, 0; flags, 1; words, 1; dynamic, 1; value, 1
reduce_mean: rows, [0, 1]; real; real, 0; real, 1; real, -1, keepdims=True
reduce_mean: t.cast(deep, t.float32), 0; t.cast(deep, t.float32), [1, 2]; t.cast(pairs, t.float32), 1; t.cast(pairs, t.float32), 2
reduce_max: real, 1; deep, 1; deep, [0, 2]; dynamic, 0
reduce_min: real, 1; pairs, 2
reduce_prod: deep, 2
reduce_any reduce_all: flags; flags, 0; flags, 1
reduce_any: rows, 1
reduce_all: flags, [0, 1]
math.reduce_variance math.reduce_std: real; real, 1
math.reduce_variance: real, 0
math.reduce_std: t.ragged.constant([[0.1] * 7, [0.4] * 7, []]), 1
reduce_logsumexp: real, 1
argmax: rows, 1

math.cumsum: rows, 0; rows, 1; rows, 1, exclusive=True; deep, 1; deep, 2, reverse=True; pairs, 1; pairs, 2
cumsum: rows, -1
nn.softmax compat.v2.nn.softmax: real; t.ragged.constant([[[1.0, 2.0], [3.0, 5.0]], []], ragged_rank=1)

unsorted_segment_sum: rows, [0, 1, 0, 1], 2; rows, t.ragged.constant([[0, 1, 0], [], [1, 1], [0]]), 2
unsorted_segment_max: rows, [0, 1, 0, 2], 4
unsorted_segment_min: rows, [0, -1, 0, 1], 2
unsorted_segment_prod: deep, [1, 1, 0], 2
unsorted_segment_mean unsorted_segment_sqrt_n: real, [0, 1, 0, 1], 2

matmul: rows, column; column, rows
math.bincount: rows, axis=-1
"""
