# SPDX-License-Identifier: Apache-2.0
"""Dimensions and sizes: rows that are joined, repeated, turned and cut, dimensions that come and go. ragged_cases.py says how to read it."""

EXPRESSIONS = """
concat: [rows, more], 0; [rows, more], 1; [rows, more], axis=-1; [rows, more], -2; [rows, more], 2; [rows, more], -3; [rows, more], t.constant(0)
concat: [rows], 0; [rows], 1; [rows, others], 0; [rows, others, rows], 1; [words, words], 1; [value, rows], 0
concat: [rows, column], 0; [rows, column], 1; [column, rows], 1; [column, rows, [[1], [2], [3], [4]]], 1
concat: [rows, [[7], [8]]], 0; [rows, [[7], [8]]], 1; [rows, t.ragged.constant([[1], [2]])], 1
concat: [rows, deep], 0; [rows, real], 0; [rows, small], 0
concat: [deep, deep], 0; [deep, deep], 1; [deep, deep], 2; [deep, deep], -1; [deep, deep2], 0
concat: [pairs, pairs], 0; [pairs, pairs], 1; [pairs, pairs], 2; [pairs, deep], 0; [box, deep], 0
concat: [dynamic, open], 1; [open, dynamic], 0
stack: [rows, more]; [rows, more], axis=0; [rows, more], axis=1; [rows, more], axis=2; [rows, more], axis=-1
stack: [rows]; [rows, others]; [rows, others], axis=1; [rows, column]; [rows, deep]
stack: [deep, deep], axis=1; [pairs, pairs], axis=2; [dynamic, dynamic], 1

expand_dims: rows, 0; rows, 1; rows, 2; rows, -1; rows, -2; rows, 3; rows, -4
expand_dims: deep, 1; deep, 2; deep, 3; pairs, 2; pairs, 3; pairs, 0
squeeze: t.expand_dims(rows, 0), [0]; t.expand_dims(rows, 1), [1]; t.expand_dims(rows, 2), [2]; t.expand_dims(rows, 2), [-1]
squeeze: rows; rows, [0]; t.expand_dims(rows, 2), 1
one_hot: rows, 4; deep, 3, on_value=5, off_value=1; rows, 4, axis=1

tile: rows, [2, 1]; rows, [1, 2]; rows, [2, 3]; rows, [0, 1]; rows, [1, 0]; rows, [2]; rows, t.constant([1, 2]); words, [2, 2]; dynamic, [2, 2]
tile: deep, [1, 2, 1]; deep, [2, 1, 2]; deep, [1, 2, 2]; pairs, [1, 1, 2]; pairs, [2, 2, 2]; pairs, [1, 2, 1]
reverse: rows, [0]; rows, [1]; rows, [0, 1]; deep, [-1]
split: rows, 2; rows, [1, 3]; rows, 2, axis=1; pairs, 2, axis=2; t.ragged.constant([[1, 2], [3]]), 2

rank: rows; deep; pairs
size: rows; deep, out_type=t.int64; pairs
shape transpose convert_to_tensor constant: rows
reshape: rows, [-1]
broadcast_to: rows, [4, 3]

ragged.range: [3, 0, 2]; t.constant([1, 2]), [4, 3]; [5, 0], [0, 5], [-2, 2]; 0, [2, 3]; [0.0, 1.0], 2.0, 0.5
ragged.range: [1, 2], row_splits_dtype=t.int32; [1, 2], [3]
"""
