# SPDX-License-Identifier: Apache-2.0
"""What is chosen: by numbers of rows, by whole indices, by conditions, by partitions. ragged_cases.py says how to read it."""

EXPRESSIONS = """
gather: rows, 0; rows, [2, 0, 2]; rows, [[3, 2], [1, 0]]; rows, []; rows, t.constant([0], t.int64); rows, [4]; rows, [0, 1], axis=0; rows, [0], axis=1
gather: deep, [2, 0]; deep, 2; deep, [[0], [2]]; deep, [0, 1], axis=1; pairs, [2, 0]; pairs, 0; words, [2, 0]; dynamic, [2, 0]
gather: rows, t.ragged.constant([[0, 1], [], [3]]); rows, t.ragged.constant([[0, 1], [], [3]], dtype=t.int64)
gather: t.constant([10, 20, 30, 40]), t.ragged.constant([[0, 1], [], [3]]); t.constant([[1, 2], [3, 4]]), t.ragged.constant([[0, 1], [], [1]])
gather: [10, 20, 30, 40, 50, 60, 70, 80], deep
t.gather(rows, ?, batch_dims=1): [[0], [], [1], [0]]; [0, 0, 1, 0]
t.gather(rows, t.ragged.constant([[0, 2], [], [1], [0]]), ?): batch_dims=1; batch_dims=-1; axis=1, batch_dims=1
t.gather(?, batch_dims=1): deep, t.ragged.constant([[1], [], [0, 2]]); pairs, t.ragged.constant([[1], [], [0, 0]])
t.gather(?, batch_dims=1): column, t.ragged.constant([[0, 0], [], [0], [0]]); t.constant([[1, 2], [3, 4]]), t.ragged.constant([[0, 1], [1]])
gather: deep, t.ragged.constant([[[1], [0]], [], [[0, 2], [], [0]]]), axis=2, batch_dims=2
batch_gather: rows, t.ragged.constant([[0, 2], [], [1], [0]]); deep, t.ragged.constant([[1], [], [0, 2]])
gather_nd: rows, [[0, 2], [2, 1]]; rows, [[0], [2]]; rows, [0, 1]; rows, [[[0, 0]], [[3, 0]]]; rows, [[0, 1, 2]]
gather_nd: deep, [[0], [2]]; deep, [[0, 1], [2, 2]]; deep, [[0, 1, 0], [2, 0, 2]]; pairs, [[0, 1, 0], [2, 0, 1]]; pairs, [[0, 1], [2, 0]]
gather_nd: rows, t.ragged.constant([[[0, 0], [0, 2]], [[3, 0]]], ragged_rank=1); rows, t.ragged.constant([[0, 0], [1]])
gather_nd: t.constant([[1, 2], [3, 4]]), t.ragged.constant([[[0, 0], [0, 1]], [[1, 0]]], ragged_rank=1)

where compat.v2.where: flags; flags, rows, more; flags, rows, 0; t.constant([[True], [False], [True], [False]]), rows, more
where: flags, rows, -rows; flags, rows, others; [True, False, True, False], rows, more; t.constant([True, False, True, False]), rows, others
where: dynamic > 2; [True, False, True], deep, deep
where: t.ragged.constant([[[True, False], [True]], [], [[False, True, True], [], [False]]])
where: t.ragged.constant([[[True, False], [False, True]], [], [[True, True]]], ragged_rank=1)
where: t.ragged.constant([[True, False], []]), t.ragged.constant([["a", "b"], []]), t.ragged.constant([["c", "d"], []])
compat.v2.where: True, rows, more
where_v2: flags, rows, 0
boolean_mask ragged.boolean_mask: rows, flags
boolean_mask: rows, [True, False, True, False]; [1, 2, 3], [True, False, True]

dynamic_partition: rows, t.ragged.constant([[0, 1, 0], [], [1, 1], [0]]), 2; rows, [0, 1, 0, 1], 2; rows, [0, 1, 0], 2
nn.embedding_lookup: [t.constant([[1.0], [2.0]]), t.constant([[3.0]])], t.ragged.constant([[0, 1], [], [2]])
nn.embedding_lookup: [t.constant([[1.0], [2.0]]), t.constant([[3.0]])], t.ragged.constant([[0, 1], [], [2]]), partition_strategy="div"
nn.embedding_lookup: t.constant([[1.0, 2.0], [3.0, 4.0]]), t.ragged.constant([[0, 1], [], [1]])
nn.embedding_lookup: t.constant([[3.0, 4.0], [0.3, 0.4]]), t.ragged.constant([[0, 1], [1]]), max_norm=1.0
ragged.map_flat_values: t.nn.embedding_lookup, t.constant([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0], [10.0]]), rows
"""
