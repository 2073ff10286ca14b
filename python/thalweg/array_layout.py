# SPDX-License-Identifier: Apache-2.0
"""Blocks, diagonals and patches; search in sorted rows: where TF1's arguments are not the operation's."""
import collections

import numpy as np

from thalweg import dtypes
from thalweg.ops import apply, convert_to_tensor
from thalweg.shapes import as_shape

ListDiff = collections.namedtuple("ListDiff", ["out", "idx"])


def _blocks(block_size, block_shape):
    if (block_size is None) == (block_shape is None):
        raise ValueError("Exactly one of block_size and block_shape must be given.")
    return np.array([block_size, block_size], np.int64) if block_shape is None else block_shape


def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):  # noqa: A002
    """Blocks of the padded space become entries of the batch."""
    return apply("SpaceToBatchND", [input, _blocks(block_size, block_shape), paddings], name=name)


def batch_to_space(input, crops, block_size, name=None, block_shape=None):  # noqa: A002
    """Entries of the batch become blocks of a space, which is then cropped."""
    return apply("BatchToSpaceND", [input, _blocks(block_size, block_shape), crops], name=name)


def _is_main_diagonal(k):
    return isinstance(k, int) and k == 0


def matrix_diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0):
    """Matrices with the given diagonals."""
    if _is_main_diagonal(k) and (num_rows, num_cols, padding_value) == (-1, -1, 0):
        return apply("MatrixDiag", [diagonal], name=name)
    return apply("MatrixDiagV2", [diagonal, k, num_rows, num_cols, padding_value], name=name)


def matrix_diag_part(input, name="diag_part", k=0, padding_value=0):  # noqa: A002
    """Diagonals of matrices, one row for each."""
    if _is_main_diagonal(k):
        return apply("MatrixDiagPart", [input], name=name)
    return apply("MatrixDiagPartV2", [input, k, padding_value], name=name)


def matrix_set_diag(input, diagonal, name="set_diag", k=0):  # noqa: A002
    """Matrices with some diagonals replaced."""
    if _is_main_diagonal(k):
        return apply("MatrixSetDiag", [input, diagonal], name=name)
    return apply("MatrixSetDiagV2", [input, diagonal, k], name=name)


def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None):
    """Windows of an image, each laid out as the channels of one place."""
    if ksizes is not None and sizes is not None:
        raise ValueError("Cannot specify both 'ksizes' and 'sizes'.")
    return apply("ExtractImagePatches", [images], {"ksizes": sizes if ksizes is None else ksizes, "strides": strides,
                                                   "rates": rates, "padding": padding}, name=name)


def ensure_shape(x, shape, name=None):
    """x itself; a step in which it has another shape fails."""
    return apply("EnsureShape", [x], {"shape": as_shape(shape)}, name=name)


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None,  # noqa: A002
                     batch_dim=None):
    """The first seq_lengths[i] elements of each sequence turned round."""
    return apply("ReverseSequence", [input, seq_lengths],
                 {"seq_dim": seq_dim if seq_axis is None else seq_axis,
                  "batch_dim": (batch_dim or 0) if batch_axis is None else batch_axis}, name=name)


def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    """What is in x and not in y, and where it stands in x."""
    return ListDiff(*apply("ListDiff", [x, y], {"out_idx": index_dtype}, name=name))


def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None):
    """Where `values` would be put into the sorted last dimension of `sorted_sequence`."""
    from thalweg.array_ops import reshape, shape
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    rows, values = convert_to_tensor(sorted_sequence), convert_to_tensor(values)
    flat = [reshape(x, [-1, shape(x)[-1]]) for x in (rows, values)]
    found = apply("LowerBound" if side == "left" else "UpperBound", flat, {"out_type": out_type}, name=name)
    return reshape(found, shape(values))


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None):
    """A dense tensor with values at some places and a default elsewhere."""
    return apply("SparseToDense", [sparse_indices, output_shape, sparse_values, default_value],
                 {"validate_indices": validate_indices}, name=name)


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """The Levenshtein distance of the rows of two SparseTensors."""
    from thalweg.sparse import SparseTensor
    parts = []
    for sparse in (hypothesis, truth):
        if not isinstance(sparse, SparseTensor) and not hasattr(sparse, "dense_shape"):
            raise TypeError("Hypothesis and truth must be SparseTensors.")
        sparse = SparseTensor.from_value(sparse)
        parts += [sparse.indices, sparse.values, sparse.dense_shape]
    return apply("EditDistance", parts, {"normalize": normalize}, name=name)
