# SPDX-License-Identifier: Apache-2.0
"""Strings: where TF1's arguments are not the operation's."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations.array_ops import expand_dims, rank
from thalweg.operations.math_ops import range_

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import Axis, DTypeLike, Nested, TensorLike
    from thalweg.graph.tensor import Tensor


def _needed(name, value):
    if value is None:
        raise ValueError(f"{name} is required.")
    return value


def string_join(inputs: Sequence[TensorLike], separator: str = "", name: str | None = None) -> Tensor:
    """The strings of several tensors, one after the other."""
    return apply("StringJoin", [list(inputs)], {"separator": separator}, name=name)


def reduce_join(inputs: TensorLike, axis: Axis | None = None, keep_dims: bool | None = None, separator: str = "",
                name: str | None = None, reduction_indices: Axis | None = None, keepdims: bool | None = None) -> Tensor:
    """Strings joined along dimensions, in the order in which they are given."""
    inputs = convert_to_tensor(inputs, dtypes.string)
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    if axis is None:
        rank = inputs.shape.ndims
        axis = np.arange(rank - 1, -1, -1, dtype=np.int32) if rank is not None else _dimensions_backwards(inputs)
    keep = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    return apply("ReduceJoin", [inputs, axis], {"keep_dims": bool(keep), "separator": separator}, name=name)


def _dimensions_backwards(inputs):
    return range_(rank(inputs) - 1, -1, -1)


def string_split(source: TensorLike, sep: str | None = None, skip_empty: bool = True, delimiter: str | None = None,
                 result_type: str = "SparseTensor", name: str | None = None) -> SparseTensor:
    """Splits the strings of a vector into their parts.

    Parameters
    ----------
    source : string vector
    sep : str, optional
        Any of its bytes ends a part; " " unless given. Every byte is a part where it is empty.
    skip_empty : bool
        Whether empty parts are left out.
    delimiter : str, optional
        The old name of `sep`.
    result_type : str
        "SparseTensor" or "RaggedTensor".
    name : str, optional

    Returns
    -------
    SparseTensor
        Row i has the parts of string i.

    Raises
    ------
    ValueError
        `source` is no vector.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.string_split(["a b", "c"])).values)
    [b'a' b'b' b'c']
    """
    sep = deprecated_argument_lookup("sep", sep, "delimiter", delimiter)
    _only_sparse("tf.string_split", result_type)
    parts = apply("StringSplit", [source, " " if sep is None else sep], {"skip_empty": skip_empty}, name=name)
    return _sparse_of(parts)


def split(input: TensorLike | None = None, sep: str | None = None, maxsplit: int = -1, result_type: str = "SparseTensor",
          source: TensorLike | None = None, name: str | None = None) -> Any:
    """The parts of strings between separators, or between white space, as a SparseTensor."""
    _only_sparse("tf.strings.split", result_type)
    source = convert_to_tensor(_needed("input", deprecated_argument_lookup("input", input, "source", source)), dtypes.string)
    if source.shape.ndims == 0:
        source = expand_dims(source, 0)
    return _sparse_of(apply("StringSplitV2", [source, "" if sep is None else sep], {"maxsplit": maxsplit}, name=name))


def _only_sparse(what, result_type):
    if result_type != "SparseTensor":
        raise NotImplementedError(f"{what} gives SparseTensors; result_type={result_type!r} is not implemented")


def _sparse_of(parts):
    indices, values, shape = parts
    indices.set_shape([None, 2])
    shape.set_shape([2])
    return SparseTensor(indices, values, shape)


def string_to_number(string_tensor: TensorLike | None = None, out_type: DTypeLike = dtypes.float32, name: str | None = None,
                     input: TensorLike | None = None) -> Tensor:
    """The numbers that strings spell."""
    text = _needed("string_tensor", deprecated_argument_lookup("string_tensor", string_tensor, "input", input))
    return apply("StringToNumber", [text], {"out_type": out_type}, name=name)


def string_to_hash_bucket(string_tensor: TensorLike | None = None, num_buckets: int | None = None, name: str | None = None,
                          input: TensorLike | None = None) -> Tensor:
    """A number below num_buckets for every string."""
    text = _needed("string_tensor", deprecated_argument_lookup("string_tensor", string_tensor, "input", input))
    return apply("StringToHashBucket", [text], {"num_buckets": _needed("num_buckets", num_buckets)}, name=name)


def decode_raw(input_bytes: TensorLike | None = None, out_type: DTypeLike | None = None, little_endian: bool = True,
               name: str | None = None, bytes: TensorLike | None = None) -> Tensor:
    """The bytes of strings as numbers.

    Parameters
    ----------
    input_bytes : string tensor
        Of strings of one length, a multiple of the type's size.
    out_type : DType
        Of the numbers.
    little_endian : bool, optional
        Whether the lowest byte of a number comes first.
    name : str, optional
        Of the operation.
    bytes : string tensor, optional
        The old name of `input_bytes`.

    Returns
    -------
    Tensor
        Of type `out_type`, with a dimension more for the numbers of a string.

    Raises
    ------
    InvalidArgumentError
        In the step: the length of a string is no multiple of the size of the type.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.decode_raw([b"ab"], tw.uint8)))
    [[97 98]]
    """
    data = _needed("input_bytes", deprecated_argument_lookup("input_bytes", input_bytes, "bytes", bytes))
    attrs = {"out_type": _needed("out_type", out_type), "little_endian": little_endian}
    return apply("DecodeRaw", [data], attrs, name=name)


def string_format(template: str, inputs: Nested, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Tensor:
    """A template with the values of tensors in the places of its placeholders."""
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(f"{len(inputs)} placeholder(s) in template does not match {template.count(placeholder)} tensor(s) in "
                         "inputs")
    attrs = {"template": template, "placeholder": placeholder, "summarize": summarize}
    return apply("StringFormat", [inputs], attrs, name=name)
