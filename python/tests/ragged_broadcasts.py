# SPDX-License-Identifier: Apache-2.0
"""Sums and the like of operands of several shapes and types. ragged_cases.py says how to read it."""

EXPRESSIONS = """
add: rows, more; rows, rows; rows, others; rows, deep; rows, small; rows, value; rows, column; column, rows
add: rows, 10; 10, rows; rows, 1.5; rows, t.cast(more, t.float32)

column * rows
rows + ?: column; open; [[1], [2], [3], [4]]; [10]; [10, 20, 30]; [[1, 2, 3]]; t.constant([[10]]); t.constant([[10], [20]])
? + rows: t.ragged.constant([[1], [2], [3], [4]]); t.ragged.constant([[5]])
t.ragged.constant([[1, 2], [3, 4]]) + ?: [[10, 20], [30, 40]]; [10, 20]
t.ragged.constant([[1, 2], [3]]) + [[10, 20], [30, 40]]
t.ragged.constant([[1, 2]]) + others
none + ?: none; 1; [[1], [2]]

deep + ?: 1; deep; one; [10]; [[[10]]]; [[[1]], [[2]], [[3]]]; t.constant([[[1], [2], [3]]])
deep + t.ragged.constant([[10, 20], [], [30, 40, 50]])
t.expand_dims(t.ragged.constant([[10, 20], [], [30, 40, 50]]), 2) + deep
pairs + ?: 1; pairs; [10, 20]; [[10, 20]]; [[[10, 20]], [[30, 40]], [[50, 60]]]; [[[1], [2]], [[3], [4]], [[5], [6]]]
pairs + t.ragged.constant([[10, 20], [], [30]])
one + pairs
box + t.ragged.constant([[[1], [2], [3]], [[4], [5], [6]]], ragged_rank=1)

t.expand_dims(rows, 1) ?: + t.expand_dims(rows, 1); * [[[1], [2]]]
t.expand_dims(t.ragged.constant([[10, 20], [30], []]), 0) + t.ragged.constant([[10, 20], [30], []])
t.ragged.constant([[1, 2], [3]])[:, t.newaxis] + t.constant([[[1], [2]], [[3], [4]]])
rows[:, t.newaxis] - t.constant([[[1], [2]], [[3], [4]], [[5], [6]], [[7], [8]]])

dynamic + ?: open; rows; [[1], [2], [3], [4]]
dynamic - t.placeholder_with_default([[1, 2]], [None, None])
open * dynamic
"""
