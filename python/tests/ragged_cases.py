# SPDX-License-Identifier: Apache-2.0
"""What functions of tensors make of RaggedTensors: expressions, and what both releases gave for them (ragged_recorded.json).

A release prints what it gives: python ragged_cases.py > 2.21.json. Of both: python ragged_cases.py 1.15.json 2.21.json
"""
import json
import os
import sys

import numpy as np

NAMES = """
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

EXPRESSIONS = """
t.abs(-rows)
t.negative(rows)
t.exp(real)
t.log(real)
t.sqrt(real)
t.square(pairs)
t.sign(rows - 3)
t.floor(real)
t.round(real)
t.sigmoid(real)
t.tanh(real)
t.sin(real)
t.erf(real)
t.lgamma(real)
t.reciprocal(real)
t.logical_not(flags)
t.cast(rows, t.float32)
t.cast(rows, t.int32)
t.to_float(rows)
t.to_int64(small)
t.saturate_cast(rows * 100, t.uint8)
t.identity(rows)
t.identity(deep)
t.stop_gradient(rows)
t.zeros_like(rows)
t.ones_like(rows)
t.ones_like(rows, dtype=t.float32)
t.zeros_like(deep, dtype=t.bool)
t.is_nan(real)
t.check_numerics(real, "bad")
t.clip_by_value(rows, 2, 5)
t.bitwise.invert(rows)
t.bitwise.bitwise_and(rows, 1)
t.bitwise.left_shift(rows, more)
t.real(t.complex(real, real))
t.imag(t.complex(real, 2.0))
t.angle(t.cast(real, t.complex64))
t.math.log_sigmoid(real)
t.nn.relu(rows - 3)
t.nn.relu6(rows)
t.nn.elu(real - 1.0)
t.nn.softplus(real)
t.nn.softsign(real)
t.nn.selu(real)
t.nn.leaky_relu(real - 1.0)
t.nn.sigmoid_cross_entropy_with_logits(labels=real, logits=real)
t.nn.softmax(real)
t.nn.softmax(t.ragged.constant([[[1.0, 2.0], [3.0, 5.0]], []], ragged_rank=1))
t.nn.dropout(real, rate=0.0)
t.strings.length(words)
t.strings.lower(words)
t.strings.upper(words)
t.strings.strip(words)
t.strings.join([words, words], "-")
t.strings.join([words, "x"])
t.strings.join(["x", words, "y"], separator=",")
t.strings.to_number(t.ragged.constant([["1", "2.5"], []]))
t.strings.regex_replace(words, "e", "E")
t.strings.regex_full_match(words, "t.*")
t.strings.substr(words, 1, 2)
t.strings.to_hash_bucket(words, 7)
t.strings.to_hash_bucket_fast(words, 7)
t.strings.to_hash_bucket_strong(words, 7, [1, 2])
t.string_to_hash_bucket(words, 7)
t.as_string(rows)
t.encode_base64(words)
t.decode_base64(t.encode_base64(words))
t.strings.unicode_script(rows)
t.strings.unicode_transcode(words, "UTF-8", "UTF-16-BE")
t.strings.reduce_join(words, axis=1)
t.strings.reduce_join(words, axis=0)
t.strings.reduce_join(words, axis=-1, separator="+")
t.reduce_join(words, 1)
t.strings.reduce_join(words)
t.strings.format("{}", rows)
t.one_hot(rows, 4)
t.one_hot(deep, 3, on_value=5, off_value=1)
t.one_hot(rows, 4, axis=1)
t.add(rows, more)
t.add(rows, 10)
t.add(10, rows)
t.add(rows, rows)
t.subtract(10, rows)
t.multiply(rows, more)
t.divide(rows, 2)
t.truediv(rows, more)
t.div(rows, 2)
t.floordiv(rows, 2)
t.floormod(rows, 3)
t.mod(rows, 3)
t.truncatediv(-rows, 2)
t.truncatemod(-rows, 2)
t.pow(rows, 2)
t.maximum(rows, more)
t.minimum(rows, 4)
t.squared_difference(rows, more)
t.atan2(real, real)
t.div_no_nan(real, 0.0)
t.realdiv(real, real)
t.equal(rows, more)
t.equal(rows, 1)
t.not_equal(rows, 1)
t.less(rows, more)
t.less_equal(rows, 3)
t.greater(4, rows)
t.greater_equal(rows, more)
t.logical_and(flags, flags)
t.logical_or(flags, False)
t.logical_xor(flags, True)
t.add_n([rows, more, rows])
t.add_n([rows])
t.add(rows, others)
t.add(rows, deep)
t.add(rows, t.cast(more, t.float32))
t.add(rows, 1.5)
t.add(rows, small)
t.add(rows, column)
t.add(column, rows)
rows + column
column * rows
rows + [[1], [2], [3], [4]]
rows + [10]
rows + [10, 20, 30]
rows + [[1, 2, 3]]
rows + t.constant([[10]])
rows + t.constant([[10], [20]])
t.ragged.constant([[1, 2], [3, 4]]) + [[10, 20], [30, 40]]
t.ragged.constant([[1, 2], [3, 4]]) + [10, 20]
t.ragged.constant([[1, 2], [3]]) + [[10, 20], [30, 40]]
t.ragged.constant([[1, 2]]) + others
t.ragged.constant([[1], [2], [3], [4]]) + rows
t.ragged.constant([[5]]) + rows
deep + 1
deep + deep
deep + [[[1]], [[2]], [[3]]]
deep + [[[10]]]
deep + [10]
deep + t.constant([[[1], [2], [3]]])
deep + t.ragged.constant([[10, 20], [], [30, 40, 50]])
t.expand_dims(t.ragged.constant([[10, 20], [], [30, 40, 50]]), 2) + deep
t.expand_dims(t.ragged.constant([[10, 20], [30], []]), 0) + t.ragged.constant([[10, 20], [30], []])
t.ragged.constant([[1, 2], [3]])[:, t.newaxis] + t.constant([[[1], [2]], [[3], [4]]])
pairs + 1
pairs + [10, 20]
pairs + [[10, 20]]
pairs + [[[10, 20]], [[30, 40]], [[50, 60]]]
pairs + [[[1], [2]], [[3], [4]], [[5], [6]]]
pairs + t.ragged.constant([[10, 20], [], [30]])
pairs + pairs
box + t.ragged.constant([[[1], [2], [3]], [[4], [5], [6]]], ragged_rank=1)
none + none
none + 1
none + [[1], [2]]
rows < 3
3 < rows
rows >= more
~flags
flags & flags
flags | True
flags ^ flags
-rows
abs(-rows)
rows ** 2
2 ** rows
rows // 2
7 // rows
rows % 2
rows / 2
rows - more
1 - rows
t.reduce_sum(rows)
t.reduce_sum(rows, 0)
t.reduce_sum(rows, 1)
t.reduce_sum(rows, -1)
t.reduce_sum(rows, -2)
t.reduce_sum(rows, [0, 1])
t.reduce_sum(rows, [1, 0])
t.reduce_sum(rows, [1])
t.reduce_sum(rows, [-1])
t.reduce_sum(rows, [0, 0])
t.reduce_sum(rows, [])
t.reduce_sum(rows, 2)
t.reduce_sum(rows, -3)
t.reduce_sum(rows, [0, 2])
t.reduce_sum(rows, t.constant(1))
t.reduce_sum(rows, t.constant([0, 1]))
t.reduce_sum(rows, 1, keepdims=True)
t.reduce_sum(rows, 0, keepdims=True)
t.reduce_sum(rows, keepdims=True)
t.reduce_sum(rows, [0, 1], keepdims=True)
t.reduce_sum(rows, "x")
t.reduce_sum(deep)
t.reduce_sum(deep, 0)
t.reduce_sum(deep, 1)
t.reduce_sum(deep, 2)
t.reduce_sum(deep, -1)
t.reduce_sum(deep, -3)
t.reduce_sum(deep, [0, 1])
t.reduce_sum(deep, [1, 2])
t.reduce_sum(deep, [0, 2])
t.reduce_sum(deep, [0, 1, 2])
t.reduce_sum(deep, [2, -3])
t.reduce_sum(deep, 1, keepdims=True)
t.reduce_sum(deep, [1, 2], keepdims=True)
t.reduce_sum(pairs)
t.reduce_sum(pairs, 0)
t.reduce_sum(pairs, 1)
t.reduce_sum(pairs, 2)
t.reduce_sum(pairs, -1)
t.reduce_sum(pairs, [1, 2])
t.reduce_sum(pairs, [0, 2])
t.reduce_sum(pairs, 2, keepdims=True)
t.reduce_sum(small, 1)
t.reduce_sum(none, 1)
t.reduce_sum(none, 0)
t.reduce_sum(flags, 1)
t.reduce_sum(words, 1)
t.reduce_mean(rows)
t.reduce_mean(rows, 0)
t.reduce_mean(rows, 1)
t.reduce_mean(rows, [0, 1])
t.reduce_mean(real)
t.reduce_mean(real, 0)
t.reduce_mean(real, 1)
t.reduce_mean(real, -1, keepdims=True)
t.reduce_mean(t.cast(deep, t.float32), 0)
t.reduce_mean(t.cast(deep, t.float32), [1, 2])
t.reduce_mean(t.cast(pairs, t.float32), 1)
t.reduce_mean(t.cast(pairs, t.float32), 2)
t.reduce_max(rows)
t.reduce_max(rows, 0)
t.reduce_max(rows, 1)
t.reduce_max(real, 1)
t.reduce_max(deep, 1)
t.reduce_max(deep, [0, 2])
t.reduce_min(rows)
t.reduce_min(rows, 0)
t.reduce_min(rows, 1)
t.reduce_min(real, 1)
t.reduce_min(pairs, 2)
t.reduce_prod(rows)
t.reduce_prod(rows, 0)
t.reduce_prod(rows, 1)
t.reduce_prod(deep, 2)
t.reduce_any(flags)
t.reduce_any(flags, 0)
t.reduce_any(flags, 1)
t.reduce_all(flags)
t.reduce_all(flags, 0)
t.reduce_all(flags, 1)
t.reduce_all(flags, [0, 1])
t.reduce_any(rows, 1)
t.math.reduce_variance(real, 1)
t.math.reduce_std(real, 1)
t.math.reduce_variance(real)
t.math.reduce_std(real)
t.reduce_logsumexp(real, 1)
t.math.cumsum(rows, 1)
t.argmax(rows, 1)
t.concat([rows, more], 0)
t.concat([rows, more], 1)
t.concat([rows, more], axis=-1)
t.concat([rows, more], -2)
t.concat([rows, others, rows], 1)
t.concat([rows, others], 0)
t.concat([rows], 0)
t.concat([rows], 1)
t.concat([rows, more], 2)
t.concat([rows, more], -3)
t.concat([rows, column], 0)
t.concat([rows, column], 1)
t.concat([column, rows], 1)
t.concat([column, rows, [[1], [2], [3], [4]]], 1)
t.concat([rows, deep], 0)
t.concat([rows, real], 0)
t.concat([rows, small], 0)
t.concat([rows, [[7], [8]]], 0)
t.concat([rows, [[7], [8]]], 1)
t.concat([rows, t.ragged.constant([[1], [2]])], 1)
t.concat([deep, deep], 0)
t.concat([deep, deep], 1)
t.concat([deep, deep], 2)
t.concat([deep, deep], -1)
t.concat([deep, deep2], 0)
t.concat([pairs, pairs], 0)
t.concat([pairs, pairs], 1)
t.concat([pairs, pairs], 2)
t.concat([pairs, deep], 0)
t.concat([box, deep], 0)
t.concat([rows, more], t.constant(0))
t.concat([words, words], 1)
t.stack([rows, more])
t.stack([rows, more], axis=0)
t.stack([rows, more], axis=1)
t.stack([rows, more], axis=2)
t.stack([rows, more], axis=-1)
t.stack([rows, others])
t.stack([rows, others], axis=1)
t.stack([rows, column])
t.stack([deep, deep], axis=1)
t.stack([pairs, pairs], axis=2)
t.stack([rows])
t.stack([rows, deep])
t.gather(rows, 0)
t.gather(rows, [2, 0, 2])
t.gather(rows, [[3, 2], [1, 0]])
t.gather(rows, [])
t.gather(rows, t.constant([0], t.int64))
t.gather(rows, [4])
t.gather(rows, t.ragged.constant([[0, 1], [], [3]]))
t.gather(rows, t.ragged.constant([[0, 1], [], [3]], dtype=t.int64))
t.gather(t.constant([10, 20, 30, 40]), t.ragged.constant([[0, 1], [], [3]]))
t.gather(t.constant([[1, 2], [3, 4]]), t.ragged.constant([[0, 1], [], [1]]))
t.gather([10, 20, 30, 40, 50, 60, 70, 80], deep)
t.gather(deep, [2, 0])
t.gather(deep, 2)
t.gather(deep, [[0], [2]])
t.gather(pairs, [2, 0])
t.gather(pairs, 0)
t.gather(words, [2, 0])
t.gather(rows, [0, 1], axis=0)
t.gather(rows, [0], axis=1)
t.gather(deep, [0, 1], axis=1)
t.gather(rows, [[0], [], [1], [0]], batch_dims=1)
t.gather(rows, t.ragged.constant([[0, 2], [], [1], [0]]), batch_dims=1)
t.gather(rows, t.ragged.constant([[0, 2], [], [1], [0]]), batch_dims=-1)
t.gather(deep, t.ragged.constant([[1], [], [0, 2]]), batch_dims=1)
t.gather(pairs, t.ragged.constant([[1], [], [0, 0]]), batch_dims=1)
t.gather(column, t.ragged.constant([[0, 0], [], [0], [0]]), batch_dims=1)
t.gather(t.constant([[1, 2], [3, 4]]), t.ragged.constant([[0, 1], [1]]), batch_dims=1)
t.batch_gather(rows, t.ragged.constant([[0, 2], [], [1], [0]]))
t.batch_gather(deep, t.ragged.constant([[1], [], [0, 2]]))
t.gather_nd(rows, [[0, 2], [2, 1]])
t.gather_nd(rows, [[0], [2]])
t.gather_nd(rows, [0, 1])
t.gather_nd(rows, [[[0, 0]], [[3, 0]]])
t.gather_nd(deep, [[0], [2]])
t.gather_nd(deep, [[0, 1], [2, 2]])
t.gather_nd(deep, [[0, 1, 0], [2, 0, 2]])
t.gather_nd(pairs, [[0, 1, 0], [2, 0, 1]])
t.gather_nd(pairs, [[0, 1], [2, 0]])
t.gather_nd(rows, t.ragged.constant([[[0, 0], [0, 2]], [[3, 0]]], ragged_rank=1))
t.gather_nd(t.constant([[1, 2], [3, 4]]), t.ragged.constant([[[0, 0], [0, 1]], [[1, 0]]], ragged_rank=1))
t.gather_nd(rows, t.ragged.constant([[0, 0], [1]]))
t.gather_nd(rows, [[0, 1, 2]])
t.expand_dims(rows, 0)
t.expand_dims(rows, 1)
t.expand_dims(rows, 2)
t.expand_dims(rows, -1)
t.expand_dims(rows, -2)
t.expand_dims(rows, 3)
t.expand_dims(rows, -4)
t.expand_dims(deep, 1)
t.expand_dims(deep, 2)
t.expand_dims(deep, 3)
t.expand_dims(pairs, 2)
t.expand_dims(pairs, 3)
t.expand_dims(pairs, 0)
t.squeeze(t.expand_dims(rows, 0), [0])
t.squeeze(t.expand_dims(rows, 1), [1])
t.squeeze(t.expand_dims(rows, 2), [2])
t.squeeze(t.expand_dims(rows, 2), [-1])
t.squeeze(rows)
t.squeeze(rows, [0])
t.squeeze(t.expand_dims(rows, 2), 1)
t.tile(rows, [2, 1])
t.tile(rows, [1, 2])
t.tile(rows, [2, 3])
t.tile(rows, [0, 1])
t.tile(rows, [1, 0])
t.tile(deep, [1, 2, 1])
t.tile(deep, [2, 1, 2])
t.tile(deep, [1, 2, 2])
t.tile(pairs, [1, 1, 2])
t.tile(pairs, [2, 2, 2])
t.tile(pairs, [1, 2, 1])
t.tile(rows, [2])
t.tile(rows, t.constant([1, 2]))
t.tile(words, [2, 2])
t.where(flags)
t.where(flags, rows, more)
t.where(flags, rows, -rows)
t.where([True, False, True, False], rows, more)
t.where(t.constant([True, False, True, False]), rows, others)
t.where([True, False, True], deep, deep)
t.where(flags, rows, 0)
t.where(flags, rows, others)
t.where(t.constant([[True], [False], [True], [False]]), rows, more)
t.where(t.ragged.constant([[[True, False], [True]], [], [[False, True, True], [], [False]]]))
t.where(t.ragged.constant([[[True, False], [False, True]], [], [[True, True]]], ragged_rank=1))
t.where(t.ragged.constant([[True, False], []]), t.ragged.constant([["a", "b"], []]), t.ragged.constant([["c", "d"], []]))
t.compat.v2.where(flags, rows, more)
t.compat.v2.where(flags, rows, 0)
t.compat.v2.where(t.constant([[True], [False], [True], [False]]), rows, more)
t.compat.v2.where(True, rows, more)
t.compat.v2.where(flags)
t.where_v2(flags, rows, 0)
t.boolean_mask(rows, [True, False, True, False])
t.boolean_mask(rows, flags)
t.boolean_mask([1, 2, 3], [True, False, True])
t.ragged.boolean_mask(rows, flags)
t.size(rows)
t.size(deep, out_type=t.int64)
t.size(pairs)
t.rank(rows)
t.rank(deep)
t.rank(pairs)
t.shape(rows)
t.ragged.range([3, 0, 2])
t.ragged.range(t.constant([1, 2]), [4, 3])
t.ragged.range([5, 0], [0, 5], [-2, 2])
t.ragged.range(0, [2, 3])
t.ragged.range([0.0, 1.0], 2.0, 0.5)
t.ragged.range([1, 2], row_splits_dtype=t.int32)
t.ragged.range([1, 2], [3])
t.ragged.map_flat_values(t.add, rows, 1)
t.ragged.map_flat_values(t.nn.embedding_lookup, t.constant([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0], [10.0]]), rows)
t.ragged.map_flat_values(t.reshape, rows, [-1, 1])
t.ragged.map_flat_values(t.reduce_sum, rows)
t.nn.embedding_lookup(t.constant([[1.0, 2.0], [3.0, 4.0]]), t.ragged.constant([[0, 1], [], [1]]))
t.nn.embedding_lookup([t.constant([[1.0], [2.0]]), t.constant([[3.0]])], t.ragged.constant([[0, 1], [], [2]]))
t.nn.embedding_lookup([t.constant([[1.0], [2.0]]), t.constant([[3.0]])], t.ragged.constant([[0, 1], [], [2]]), partition_strategy="div")
t.nn.embedding_lookup(t.constant([[3.0, 4.0], [0.3, 0.4]]), t.ragged.constant([[0, 1], [1]]), max_norm=1.0)
t.dynamic_partition(rows, t.ragged.constant([[0, 1, 0], [], [1, 1], [0]]), 2)
t.dynamic_partition(rows, [0, 1, 0, 1], 2)
t.unsorted_segment_sum(rows, [0, 1, 0, 1], 2)
t.unsorted_segment_sum(rows, t.ragged.constant([[0, 1, 0], [], [1, 1], [0]]), 2)
t.unsorted_segment_max(rows, [0, 1, 0, 2], 4)
t.unsorted_segment_mean(real, [0, 1, 0, 1], 2)
t.unsorted_segment_sqrt_n(real, [0, 1, 0, 1], 2)
t.unsorted_segment_prod(deep, [1, 1, 0], 2)
t.unsorted_segment_min(rows, [0, -1, 0, 1], 2)
t.reverse(rows, [0])
t.reverse(rows, [1])
t.reverse(rows, [0, 1])
t.reverse(deep, [-1])
t.split(rows, 2)
t.split(rows, [1, 3])
t.split(pairs, 2, axis=2)
t.split(rows, 2, axis=1)
t.split(t.ragged.constant([[1, 2], [3]]), 2)
t.reshape(rows, [-1])
t.broadcast_to(rows, [4, 3])
t.matmul(rows, column)
t.matmul(column, rows)
t.transpose(rows)
t.convert_to_tensor(rows)
t.constant(rows)
t.scalar_mul(2, rows)
t.assert_equal(rows, rows)
t.bitcast(rows, t.float32)
t.math.bincount(rows, axis=-1)
dynamic + open
open * dynamic
rows + open
dynamic + rows
dynamic + [[1], [2], [3], [4]]
dynamic - t.placeholder_with_default([[1, 2]], [None, None])
deep + one
one + pairs
t.reduce_sum(dynamic, 1)
t.reduce_max(dynamic, 0)
t.concat([dynamic, open], 1)
t.concat([open, dynamic], 0)
t.stack([dynamic, dynamic], 1)
t.tile(dynamic, [2, 2])
t.gather(dynamic, [2, 0])
t.where(dynamic > 2)
t.expand_dims(rows, 1) + t.expand_dims(rows, 1)
t.expand_dims(rows, 1) * [[[1], [2]]]
rows[:, t.newaxis] - t.constant([[[1], [2]], [[3], [4]], [[5], [6]], [[7], [8]]])
t.add(rows, value)
t.reduce_sum(value, 1)
t.concat([value, rows], 0)
t.abs(value)
t.math.cumsum(rows, 0)
t.cumsum(rows, -1)
t.math.cumsum(rows, 1, exclusive=True)
t.math.cumsum(deep, 1)
t.math.cumsum(deep, 2, reverse=True)
t.math.cumsum(pairs, 1)
t.math.cumsum(pairs, 2)
t.compat.v2.nn.softmax(real)
t.compat.v2.nn.softmax(t.ragged.constant([[[1.0, 2.0], [3.0, 5.0]], []], ragged_rank=1))
t.strings.format("{} x {}", [deep, rows])
t.strings.format("{} {}", [words, [1, 2]])
t.strings.format("{}", [t.ragged.range(20)])
t.strings.format("{}", [t.ragged.constant([[i] for i in range(12)])])
t.strings.format("{}", pairs, summarize=1)
t.strings.format("{}", real)
t.math.reduce_variance(real, 0)
t.gather(rows, t.ragged.constant([[0, 2], [], [1], [0]]), axis=1, batch_dims=1)
t.gather(deep, t.ragged.constant([[[1], [0]], [], [[0, 2], [], [0]]]), axis=2, batch_dims=2)
t.gradients(t.reduce_sum(real * real, 1), real.flat_values)[0]
t.gradients(t.reduce_max(real, 1), real.flat_values)[0]
t.convert_to_tensor(t.gradients(t.concat([real, real], 1).flat_values * 2.0, real.flat_values)[0])
t.convert_to_tensor(t.gradients(t.gather(real, [3, 0]).flat_values, real.flat_values)[0])
t.convert_to_tensor(t.gradients(t.tile(real, [2, 2]).flat_values, real.flat_values)[0])
t.gradients(t.reduce_mean(t.exp(real), 0), real.flat_values)[0]
t.gradients(t.where(real > 1.0, real, real * 3.0).flat_values, real.flat_values)[0]
t.convert_to_tensor(t.gradients((real * [[1.0], [2.0], [3.0], [4.0]]).flat_values, real.flat_values)[0])
t.gradients(t.expand_dims(real, 1).flat_values * 3.0, real.flat_values)[0]
t.convert_to_tensor(t.gradients(t.gather_nd(real, [[0, 1], [3, 2]]), real.flat_values)[0])
"""


def plain(value):
    """A fetched value as JSON holds it, with the type of its row splits; numbers to six places."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "nested_row_splits"):
        return [plain(v) for v in value]
    if hasattr(value, "nested_row_splits"):
        return {"ragged": _printed(value.to_list()), "splits": str(value.row_splits.dtype), "dtype": _kind(value.flat_values.dtype)}
    value = np.asarray(value)
    return {"value": _printed(value.tolist()), "dtype": _kind(value.dtype)}


def _kind(dtype):
    return "text" if dtype.kind in "OSU" else str(dtype)


def _printed(value):
    if isinstance(value, list):
        return [_printed(v) for v in value]
    if isinstance(value, (float, complex)):
        return f"{value:.6g}"
    return value.decode("latin1") if isinstance(value, bytes) else value


def outcome(t, expression):
    """What an expression gives, or which error it is."""
    with t.Graph().as_default(), t.Session() as session:
        scope = {"t": t}
        try:
            for line in NAMES.strip().splitlines():
                name, text = line.split(None, 1)
                if name in expression:
                    scope[name] = eval(text, scope)
            return plain(session.run(eval(expression, scope)))
        except (ValueError, TypeError, AttributeError, NotImplementedError, IndexError, t.errors.OpError) as error:
            return {"error": type(error).__name__}


def expressions():
    return EXPRESSIONS.strip().splitlines()


def alike(a, b):
    """Whether two outcomes are the same; numbers with a fraction may differ in the last of their places."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    try:
        return a == b or isinstance(a, str) and isinstance(b, str) and bool(np.isclose(complex(a), complex(b), rtol=2e-5, atol=1e-7))
    except ValueError:
        return False


def recorded():
    """expression -> release -> outcome."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ragged_recorded.json")) as file:
        return json.load(file)


def outcomes_of_release():
    """Those of the TensorFlow of this interpreter."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow
    tf = tensorflow.compat.v1 if hasattr(tensorflow.compat, "v1") else tensorflow
    tf.disable_v2_behavior()
    return {expression: outcome(tf, expression) for expression in expressions()}


def main():
    """Prints the outcomes of this release; with two such files, writes ragged_recorded.json of them: 1.15's, then 2.21's."""
    if len(sys.argv) == 1:
        json.dump(outcomes_of_release(), sys.stdout)
        return
    columns = {}
    for release, path in zip(("1.15", "2.21"), sys.argv[1:]):
        with open(path) as file:
            columns[release] = json.load(file)
    rows = [f"{json.dumps(e)}: {json.dumps({release: column[e] for release, column in columns.items()})}" for e in expressions()]
    with open("ragged_recorded.json", "w") as file:
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
