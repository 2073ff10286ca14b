# SPDX-License-Identifier: Apache-2.0
"""What programs make of RaggedTensors, by name; as JSON where this file is run by one of the releases."""
import json
import os
import sys

import numpy as np

T3 = np.arange(12).reshape(2, 3, 2) % 5
PADDED = [[5, 7, 0], [0, 3, 0], [0, 0, 0]]


def rows(t):
    return t.ragged.constant([[1, 2, 3], [], [4, 5], [6]])


def deep(t):
    return t.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6], [], [7]]])


def pairs(t):
    return t.ragged.constant([[[1, 2], [3, 4]], [], [[5, 6]]], ragged_rank=1)


def sparse(t, columns, shape=(4, 3)):
    return t.SparseTensor([[0, columns[0]], [0, columns[1]], [2, columns[2]]], [1, 2, 3], shape)


MADE = {
    "splits": lambda t: t.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3]),
    "splits of int32": lambda t: t.RaggedTensor.from_row_splits([1, 2, 3], np.array([0, 2, 3], np.int32)),
    "splits that go down": lambda t: t.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 1, 3]),
    "splits that end early": lambda t: t.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2]),
    "splits of none": lambda t: t.RaggedTensor.from_row_splits([1, 2, 3], []),
    "splits of floats": lambda t: t.RaggedTensor.from_row_splits([1, 2], [0.0, 2.0]),
    "splits that are not looked at": lambda t: t.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2], validate=False),
    "splits beside others": lambda t: t.RaggedTensor.from_row_splits(
        t.RaggedTensor.from_row_splits([1, 2], np.array([0, 1, 2], np.int32)), np.array([0, 2], np.int64)),
    "rowids": lambda t: t.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 3]),
    "rowids of rows": lambda t: t.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 3], nrows=6),
    "rowids that go down": lambda t: t.RaggedTensor.from_value_rowids([1, 2, 3], [0, 2, 1]),
    "rowids of too few rows": lambda t: t.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 3], nrows=2),
    "rowids of less than none": lambda t: t.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 3], nrows=-2),
    "lengths": lambda t: t.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1]),
    "lengths that are too many": lambda t: t.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 2]),
    "starts": lambda t: t.RaggedTensor.from_row_starts([1, 2, 3], [0, 0, 2]),
    "limits": lambda t: t.RaggedTensor.from_row_limits([1, 2, 3], [0, 2, 3]),
    "limits that end early": lambda t: t.RaggedTensor.from_row_limits([1, 2, 3], [0, 2]),
    "nested splits": lambda t: t.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 3], [0, 1, 1, 3]]),
    "nested lengths": lambda t: t.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[1, 2], [1, 0, 2]]),
    "nested rowids": lambda t: t.RaggedTensor.from_nested_value_rowids([1, 2, 3], [[0, 1, 1], [0, 2, 2]], [2, 3]),
    "private": lambda t: t.RaggedTensor(t.constant([1]), t.constant([0, 1])),
    "constant": deep, "constant of pairs": pairs,
    "constant of inner shape": lambda t: t.ragged.constant([[[1, 2], [3, 4]], []], inner_shape=(2,)),
    "constant of two depths": lambda t: t.ragged.constant([[1], 2]),
    "constant of two lengths": lambda t: t.ragged.constant([[[1, 2], [3]], []], ragged_rank=1),
    "constant of rank 0": lambda t: t.ragged.constant([[1, 2], [3, 4]], ragged_rank=0),
    "constant of too high a rank": lambda t: t.ragged.constant([[1, 2]], ragged_rank=3),
    "constant of nothing": lambda t: t.ragged.constant([]),
    "constant of empty rows": lambda t: t.ragged.constant([[], [[]]]),
    "constant of texts": lambda t: t.ragged.constant([["a", "bc"], []]),
    "constant scalar": lambda t: t.ragged.constant(3),
    "range": lambda t: t.ragged.range([3, 5, 2]),
    "range of starts": lambda t: t.ragged.range([0, 5, 8], [3, 3, 12], 2),
    "range of floats": lambda t: t.ragged.range([0.5], [3]),
    "range of one": lambda t: t.ragged.range(3),
    "from_sparse": lambda t: t.RaggedTensor.from_sparse(sparse(t, [0, 1, 0])),
    "from_sparse with holes": lambda t: t.RaggedTensor.from_sparse(sparse(t, [0, 2, 0])),
    "from_sparse of three": lambda t: t.RaggedTensor.from_sparse(t.SparseTensor([[0, 0, 0]], [1], [4, 3, 2])),
    "from_sparse of none": lambda t: t.RaggedTensor.from_sparse(3),
    "from_tensor": lambda t: t.RaggedTensor.from_tensor(PADDED),
    "from_tensor padded": lambda t: t.RaggedTensor.from_tensor(PADDED, padding=0),
    "from_tensor of lengths": lambda t: t.RaggedTensor.from_tensor(PADDED, lengths=[1, 0, 9]),
    "from_tensor of both": lambda t: t.RaggedTensor.from_tensor(PADDED, lengths=[1, 0, 2], padding=0),
    "from_tensor of three": lambda t: t.RaggedTensor.from_tensor(T3),
    "from_tensor of two ragged": lambda t: t.RaggedTensor.from_tensor(T3, ragged_rank=2),
    "from_tensor padded by rows": lambda t: t.RaggedTensor.from_tensor(T3, padding=[4, 0]),
    "from_tensor padded inside": lambda t: t.RaggedTensor.from_tensor(T3, padding=0, ragged_rank=2),
    "from_tensor of inner lengths": lambda t: t.RaggedTensor.from_tensor(T3, lengths=[1, 2, 0, 1, 1, 2], ragged_rank=2),
    "from_tensor of nested lengths": lambda t: t.RaggedTensor.from_tensor(T3, lengths=([2, 3], [1, 2, 0, 1, 2])),
    "from_tensor of int32": lambda t: t.RaggedTensor.from_tensor(PADDED, padding=0, row_splits_dtype=t.int32),
    "from_tensor of no ragged": lambda t: t.RaggedTensor.from_tensor(PADDED, ragged_rank=0),
    "from_tensor of too many ragged": lambda t: t.RaggedTensor.from_tensor(PADDED, ragged_rank=2),
}

USED = {
    "to_tensor": lambda t: rows(t).to_tensor(), "to_tensor of two": lambda t: deep(t).to_tensor(-1),
    "to_tensor of pairs": lambda t: pairs(t).to_tensor([9, 8]),
    "to_tensor of texts": lambda t: t.ragged.constant([["a"], ["b", "c"]]).to_tensor(),
    "to_tensor of a matrix": lambda t: rows(t).to_tensor([[1]]),
    "to_tensor of a text": lambda t: rows(t).to_tensor("x"),
    "to_sparse": lambda t: list(_parts(deep(t).to_sparse())), "to_sparse of pairs": lambda t: list(_parts(pairs(t).to_sparse())),
    "value_rowids": lambda t: deep(t).value_rowids(), "nested_value_rowids": lambda t: list(deep(t).nested_value_rowids()),
    "rows": lambda t: [rows(t).nrows(), rows(t).row_starts(), rows(t).row_limits(), rows(t).row_lengths()],
    "nested_row_lengths": lambda t: list(deep(t).nested_row_lengths()),
    "row_lengths of 2": lambda t: deep(t).row_lengths(2), "row_lengths of pairs": lambda t: pairs(t).row_lengths(2),
    "row_lengths of 0": lambda t: deep(t).row_lengths(0), "row_lengths of the last": lambda t: deep(t).row_lengths(-1),
    "row_lengths of none": lambda t: rows(t).row_lengths(3),
    "bounding_shape": lambda t: deep(t).bounding_shape(), "bounding_shape of an axis": lambda t: rows(t).bounding_shape(1),
    "bounding_shape of pairs": lambda t: pairs(t).bounding_shape(out_type=t.int32),
    "with_row_splits_dtype": lambda t: deep(t).with_row_splits_dtype(t.int32),
    "with_flat_values": lambda t: deep(t).with_flat_values(t.range(7) * 2),
    "with_values of other splits": lambda t: t.ragged.constant([[1, 2]], row_splits_dtype=t.int32).with_values(t.ragged.constant([[1], [2]])),
    "operators": lambda t: [rows(t) + 1, 10 - rows(t), rows(t) * rows(t), -rows(t), abs(-rows(t)), rows(t) // 2, rows(t) % 2],
    "comparisons": lambda t: [rows(t) < 3, rows(t) >= rows(t), ~(rows(t) > 1), (rows(t) > 1) & (rows(t) < 5)],
    "division": lambda t: deep(t) / 2, "power": lambda t: t.ragged.constant([[1.5], [], [2.0]]) ** 2.0,
    "operators of other rows": lambda t: rows(t) + t.ragged.constant([[1], [2, 3], [4, 5], [6]]),
    "map_flat_values": lambda t: t.ragged.map_flat_values(t.multiply, rows(t), 10),
    "map_flat_values of two": lambda t: t.ragged.map_flat_values(t.add, rows(t), rows(t)),
    "map_flat_values of none": lambda t: t.ragged.map_flat_values(t.add, 1, 2),
    "map_flat_values of other ranks": lambda t: t.ragged.map_flat_values(t.add, rows(t), deep(t)),
    "map_flat_values of other rows": lambda t: t.ragged.map_flat_values(t.add, t.ragged.constant([[1], [2]]), t.ragged.constant([[1, 2], []])),
    "boolean_mask": lambda t: t.ragged.boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, False]]),
    "boolean_mask of rows": lambda t: t.ragged.boolean_mask(rows(t), [True, False, True, False]),
    "boolean_mask of ragged": lambda t: t.ragged.boolean_mask(rows(t), t.ragged.constant([[True, False, True], [], [False, True], [True]])),
    "boolean_mask of inner rows": lambda t: t.ragged.boolean_mask(deep(t), t.ragged.constant([[True, False], [], [False, True, True]])),
    "boolean_mask of two": lambda t: t.ragged.boolean_mask(
        deep(t), t.ragged.constant([[[True, False], [True]], [], [[False, True, True], [], [False]]])),
    "boolean_mask of three": lambda t: t.ragged.boolean_mask(T3, [[True, False, True], [False, False, True]]),
    "boolean_mask scalar": lambda t: t.ragged.boolean_mask(rows(t), True),
    "boolean_mask of other rows": lambda t: t.ragged.boolean_mask(rows(t), t.ragged.constant([[True], [], [False, True], [True]])),
    "stack": lambda t: t.ragged.stack([[1, 2], [3], [4, 5, 6]]),
    "stack of ragged": lambda t: t.ragged.stack([rows(t), t.ragged.constant([[9]])]),
    "stack by rows": lambda t: t.ragged.stack([rows(t), rows(t)], axis=1),
    "stack inside": lambda t: t.ragged.stack([rows(t), rows(t)], axis=-1),
    "stack of matrices": lambda t: t.ragged.stack([[[1, 2], [3, 4]], [[5, 6]]]),
    "stack of matrices by rows": lambda t: t.ragged.stack([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], axis=1),
    "stack of boxes by rows": lambda t: t.ragged.stack([[[[1], [2]]], [[[3], [4]]]], axis=1),
    "stack of vectors by rows": lambda t: t.ragged.stack([[1, 2], [3, 4]], axis=1),
    "stack of both": lambda t: t.ragged.stack([rows(t), [[9, 8], [7, 6]]]),
    "stack of scalars": lambda t: t.ragged.stack([1, 2]), "stack of one": lambda t: t.ragged.stack([rows(t)]),
    "stack of nothing": lambda t: t.ragged.stack([]),
    "partitions": lambda t: t.ragged.stack_dynamic_partitions(["a", "b", "c", "d", "e"], [3, 0, 2, 2, 3], 5),
    "partitions of rows": lambda t: t.ragged.stack_dynamic_partitions(rows(t), [0, 1, 0, 1], 2),
    "partitions of values": lambda t: t.ragged.stack_dynamic_partitions(rows(t), t.ragged.constant([[0, 1, 0], [], [1, 1], [0]]), 2),
    "partitions of inner values": lambda t: t.ragged.stack_dynamic_partitions(deep(t), t.ragged.map_flat_values(t.floormod, deep(t), 2), 2),
    "partitions of inner rows": lambda t: t.ragged.stack_dynamic_partitions(
        deep(t), t.ragged.constant([[0, 1], [], [1, 1, 0]], row_splits_dtype=t.int64), 2),
    "partitions of two": lambda t: t.ragged.stack_dynamic_partitions([[1, 2], [3, 4]], [[0, 1], [1, 0]], 2),
    "segment ids": lambda t: t.ragged.row_splits_to_segment_ids([0, 3, 3, 5], out_type=t.int32),
    "row splits": lambda t: t.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2]),
    "row splits of rows": lambda t: t.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2], num_segments=6),
    "decode": lambda t: t.strings.unicode_decode(["a", "bc\u00f6"], "UTF-8"),
    "decode one": lambda t: t.strings.unicode_decode("abc", "UTF-8"),
    "decode a matrix": lambda t: t.strings.unicode_decode([["a", "bc"], ["", "d"]], "UTF-8"),
    "decode ragged": lambda t: t.strings.unicode_decode(t.ragged.constant([["a", "bc"], ["d"]]), "UTF-8"),
    "decode bytes": lambda t: t.strings.unicode_decode([b"a\xff"], "UTF-8", errors="ignore"),
    "split": lambda t: t.strings.unicode_split(["a\u00f6", "c"], "UTF-8"),
    "split one": lambda t: t.strings.unicode_split("a\u00f6", "UTF-8"),
    "split with offsets": lambda t: list(t.strings.unicode_split_with_offsets(["\u00f6a", "c"], "UTF-8")),
    "encode": lambda t: t.strings.unicode_encode(t.ragged.constant([[97], [98, 99]], t.int32), "UTF-8"),
    "encode one": lambda t: t.strings.unicode_encode([97, 98], "UTF-16-BE"),
    "encode three": lambda t: t.strings.unicode_encode([[[97, 98], [99, 100]]], "UTF-8"),
    "encode ragged": lambda t: t.strings.unicode_encode(t.ragged.constant([[[97], [98, 99]], []], t.int32), "UTF-8"),
    "encode a scalar": lambda t: t.strings.unicode_encode(97, "UTF-8"),
}

ALL = slice(None)
KEYS = {
    rows: [0, 1, -1, slice(1, None), slice(None, None, 2), slice(None, None, -1), slice(None, -1), slice(10, None), ALL, Ellipsis, None,
           (0, 1), (slice(1, None), slice(1, None)), (ALL, slice(None, -1)), (ALL, slice(None, None, 2)), (ALL, slice(None, None, -1)),
           (ALL, slice(-2, None)), (ALL, slice(2, 1)), (ALL, None), (ALL, 0), (0, None), (Ellipsis, None), (None, Ellipsis),
           (0, 1, 2, 3)],
    deep: [0, (0, 1), (2, 0), (0, slice(1, None)), (0, ALL, slice(1, None)), (ALL, ALL, slice(1, None)),
           (ALL, slice(1, None), slice(1, None)), (ALL, ALL, 0), (ALL, 0), (Ellipsis, slice(1, None)), (0, 0, 0), (0, Ellipsis),
           (ALL, slice(None, None, -1)), (ALL, ALL, slice(None, None, -1)), (2, slice(None, None, 2)), (None, 0), (0, None), (ALL, None),
           (ALL, ALL, None)],
    pairs: [(ALL, ALL, 0), (ALL, ALL, slice(1, None)), (ALL, slice(1, None), 0), (0, 0), (ALL, ALL, None), (Ellipsis, 0)],
}


def _name(key):
    if isinstance(key, tuple):
        return ",".join(map(_name, key))
    if isinstance(key, slice):
        return ":".join("" if p is None else str(p) for p in (key.start, key.stop)) + ("" if key.step is None else f":{key.step}")
    return "..." if key is Ellipsis else str(key)


PARTS = {f"{of.__name__}[{_name(key)}]": lambda t, of=of, key=key: of(t)[key] for of, keys in KEYS.items() for key in keys}
# Datasets; those of the second table are of 2.21 alone, which has no differences in classes and batches by rows.
DATASETS = {
    "tensors": lambda t, d: d.from_tensors(rows(t)),
    "slices": lambda t, d: d.from_tensor_slices(deep(t)),
    "slices in batches": lambda t, d: d.from_tensor_slices(deep(t)).batch(2),
    "slices of batches": lambda t, d: d.from_tensor_slices(deep(t)).batch(2).unbatch(),
    "mapped": lambda t, d: d.range(3).map(lambda n: t.ragged.range([n, n + 1])),
    "mapped batches": lambda t, d: d.range(3).map(lambda n: t.ragged.range([n, n + 1])).batch(2),
    "lengths": lambda t, d: d.from_tensors(rows(t)).map(lambda r: r.row_lengths()),
    "chosen": lambda t, d: d.from_tensor_slices(deep(t)).filter(lambda r: t.greater(r.nrows(), 0)),
}
NEWER_DATASETS = {
    "rows": lambda t, d: d.from_tensor_slices(rows(t)),
    "rows in batches": lambda t, d: d.from_tensor_slices(rows(t)).batch(3),
    "rows in whole batches": lambda t, d: d.from_tensor_slices(rows(t)).batch(3, drop_remainder=True),
    "dictionary": lambda t, d: d.from_tensor_slices({"a": rows(t), "b": [1, 2, 3, 4]}).map(lambda e: (e["a"], e["b"])),
    "with numbers": lambda t, d: d.zip((d.from_tensor_slices(rows(t)), d.range(9))),
    "two": lambda t, d: d.from_tensors(t.ragged.constant([[1]])).concatenate(d.from_tensors(rows(t))),
    "batches": lambda t, d: d.range(4).map(t.range).ragged_batch(2),
    "batches of pairs": lambda t, d: d.range(5).map(lambda n: (t.range(n), n)).ragged_batch(2, True, t.int32),
    "batches of matrices": lambda t, d: d.range(1, 5).map(lambda n: t.ones([n, n])).ragged_batch(2),
    "batches of rows": lambda t, d: d.range(1, 5).map(lambda n: t.ones([2, n])).ragged_batch(2),
    "batches of columns": lambda t, d: d.range(1, 5).map(lambda n: t.ensure_shape(t.ones([n, 2]), [None, 2])).ragged_batch(2),
    "batches of scalars": lambda t, d: d.range(4).apply(t.data.experimental.dense_to_ragged_batch(2)),
}


def _parts(st):
    return st.indices, st.values, st.dense_shape


def plain(value):
    """A fetched value as JSON holds it, with the type of its row splits."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "nested_row_splits"):
        return {"ragged": _texts(value.to_list()), "splits": str(value.row_splits.dtype), "dtype": str(value.flat_values.dtype)}
    value = np.asarray(value)
    return {"value": _texts(value.tolist()), "dtype": "text" if value.dtype.kind in "OSU" else str(value.dtype)}


def _texts(value):
    if isinstance(value, list):
        return [_texts(v) for v in value]
    return value.decode("latin1") if isinstance(value, bytes) else value


def outcome(t, make):
    """What a case gives, or which error it is."""
    with t.Graph().as_default(), t.Session() as session:
        try:
            return plain(session.run(make(t)))
        except (ValueError, TypeError, t.errors.InvalidArgumentError) as error:
            return {"error": type(error).__name__}


def elements(t, make):
    """Those of a dataset, in order."""
    given = []
    with t.Graph().as_default(), t.Session() as session:
        dataset = make(t, t.data.Dataset)
        following = dataset.make_one_shot_iterator().get_next() if hasattr(dataset, "make_one_shot_iterator") else \
            t.data.make_one_shot_iterator(dataset).get_next()
        while True:
            try:
                given.append(plain(session.run(following)))
            except t.errors.OutOfRangeError:
                return given


def all_outcomes(t, newer):
    """Of all cases, by name."""
    found = {name: outcome(t, make) for table in (MADE, USED, PARTS) for name, make in table.items()}
    tables = (DATASETS, NEWER_DATASETS) if newer else (DATASETS,)
    return {**found, **{f"dataset: {name}": elements(t, make) for table in tables for name, make in table.items()}}


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow
    tf = tensorflow.compat.v1 if hasattr(tensorflow.compat, "v1") else tensorflow
    tf.disable_v2_behavior()
    json.dump(all_outcomes(tf, newer=not tf.__version__.startswith("1.")), sys.stdout)
