# SPDX-License-Identifier: Apache-2.0
"""What the expressions of ragged_*.py name: RaggedTensors, and tensors beside them."""

OPERANDS = """
rows     t.ragged.constant([[3, 1, 4], [], [1, 5], [9]])
more     t.ragged.constant([[7, 8, 2], [], [6, 3], [5]])
others   t.ragged.constant([[1], [2, 3], [4, 5], [6]])
real     t.ragged.constant([[0.5, 2.0], [], [3.0], [0.25, 1.0, 4.0]])
deep     t.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6], [], [7]]])
deep2    t.ragged.constant([[[1, 2], [3], [8, 9]], [[5], [6, 7]]])
pairs    t.ragged.constant([[[1, 2], [3, 4]], [], [[5, 6]]], ragged_rank=1)
flags    t.ragged.constant([[True, False, True], [], [False, True], [True]])
words    t.ragged.constant([["one", "Two "], [], ["three"]])
small    t.ragged.constant([[3, 1, 4], [], [1, 5], [9]], row_splits_dtype=t.int32)
none     t.ragged.constant([[], []], dtype=t.int32)
column   t.constant([[10], [20], [30], [40]])
box      t.reshape(t.range(12), [2, 3, 2])
value    t.ragged.constant_value([[7, 8, 2], [], [6, 3], [5]], "int32")
dynamic  t.RaggedTensor.from_row_splits(t.placeholder_with_default([3, 1, 4, 1, 5, 9], [None]), t.placeholder_with_default([0, 3, 3, 5, 6], [None]))
open     t.placeholder_with_default([[10], [20], [30], [40]], [None, None])
one      t.placeholder_with_default([[[10]]], [None, None, None])
"""
