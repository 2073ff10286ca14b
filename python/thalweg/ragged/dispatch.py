# SPDX-License-Identifier: Apache-2.0
"""Operations of RaggedTensors: the tables of those that take them, by name. `graph/ops.py` asks here where an input is ragged, so that
functions of tensors, which end in operations, take RaggedTensors as they are."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor, is_dense
from thalweg.operations import array_ops
from thalweg.ragged import broadcasting, choosing, dimensions, formatting, reductions
from thalweg.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Operations whose result has the shape of their inputs, or what those give that are broadcast.
_ELEMENTWISE = frozenset("""
    Abs Acos Acosh Angle AsString Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e
    BesselK1 BesselK1e BesselY0 BesselY1 Bitcast Cast Ceil CheckNumerics CheckNumericsV2 Conj Cos Cosh Dawsn DecodeBase64
    DecodeCompressed Digamma Elu EncodeBase64 Erf Erfc Erfinv Exp Expint Expm1 Floor FresnelCos FresnelSin Identity Imag Inv Invert IsFinite IsInf
    IsNan LeakyRelu Lgamma Log Log1p LogicalNot Ndtri Neg OnesLike PreventGradient Real Reciprocal RegexFullMatch RegexReplace Relu Relu6
    Rint Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign Spence Sqrt Square StaticRegexFullMatch StaticRegexReplace
    StopGradient StringLength StringLower StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong
    StringToNumber StringUpper Substr Tan Tanh UnicodeScript UnicodeTranscode ZerosLike
    Add AddN AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor ClipByValue Complex Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Igamma
    Igammac LeftShift Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan NextAfter NotEqual Polygamma Pow RealDiv
    RightShift SelectV2 SquaredDifference StringJoin Sub TruncateDiv TruncateMod Xdivy Xlog1py Xlogy Zeta""".split())


def _elementwise(op, inputs, attrs):
    flat = [v for value in inputs for v in (value if isinstance(value, (list, tuple)) and _is_several(value) else [value])]
    ragged = [v for v in flat if isinstance(v, RaggedTensor)]
    operands = [_operand(v, ragged[0].dtype.base_dtype) for v in flat]
    with_rank = [v for v in operands if v is not None]
    rows, values = broadcasting.same_rows(with_rank)
    rest = iter(values)
    values = iter([v if operand is None else next(rest) for v, operand in zip(flat, operands)])
    given = [[next(values) for _ in value] if isinstance(value, (list, tuple)) and _is_several(value) else next(values) for value in inputs]
    return rows.with_flat_values(apply(op, given, attrs))


def _is_several(value):
    """Whether it is a list of operands, and not a value."""
    return any(isinstance(v, RaggedTensor) for v in value)


def _operand(value, dtype):
    """A tensor of what has dimensions; None for a number, which stays as it is."""
    if isinstance(value, RaggedTensor) or is_dense(value):
        return convert_to_tensor(value)
    if np.ndim(value) == 0:
        return None
    return convert_to_tensor(value, preferred_dtype=dtype)


def _assert(op, inputs, attrs):
    """The data that is shown has the parts of RaggedTensors."""
    data = [part for v in inputs[1] for part in ([v.flat_values, *v.nested_row_splits] if isinstance(v, RaggedTensor) else [v])]
    return apply(op, [inputs[0], data], attrs)


def _size(op, inputs, attrs):
    return array_ops.size(inputs[0].flat_values, out_type=attrs.get("out_type") or dtypes.int32)


def _rank(op, inputs, attrs):
    return array_ops.rank(inputs[0].flat_values) + constant(inputs[0].ragged_rank)


_OTHERS = {
    "All": reductions.reduce, "Any": reductions.reduce, "Max": reductions.reduce, "Mean": reductions.reduce, "Min": reductions.reduce,
    "Prod": reductions.reduce, "ReduceJoin": reductions.reduce, "Sum": reductions.reduce,
    "UnsortedSegmentMax": reductions.segments, "UnsortedSegmentMin": reductions.segments, "UnsortedSegmentProd": reductions.segments,
    "UnsortedSegmentSum": reductions.segments,
    "Assert": _assert, "ConcatV2": dimensions.concat, "ExpandDims": dimensions.expand_dims, "OneHot": dimensions.one_hot, "Pack": dimensions.pack,
    "Reshape": dimensions.reshape, "ReverseV2": dimensions.reverse, "Split": dimensions.split, "SplitV": dimensions.split,
    "Squeeze": dimensions.squeeze, "Tile": dimensions.tile,
    "DynamicPartition": choosing.dynamic_partition, "GatherNd": choosing.gather_nd, "GatherV2": choosing.gather,
    "Select": choosing.select, "Where": choosing.where,
    "Cumsum": reductions.cumsum, "Softmax": reductions.softmax,
    "Rank": _rank, "Size": _size, "StringFormat": formatting.string_format}


def make(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any], name: str | None) -> Any:
    """What `op` makes of inputs, of which one at least is ragged."""
    handler = _elementwise if op in _ELEMENTWISE else _OTHERS.get(op)
    if handler is None:
        raise TypeError(f"'{op}' Op takes no RaggedTensor; use to_tensor(), or tf.ragged.map_flat_values for its values")
    with name_scope(name, f"Ragged{op}"):
        return handler(op, [_ragged(value) for value in inputs], attrs)


def _ragged(value):
    """RaggedTensors of their values, also in lists."""
    if isinstance(value, RaggedTensorValue):
        return RaggedTensor.from_value(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, RaggedTensorValue) for v in value):
        return [_ragged(v) for v in value]
    return value
