# SPDX-License-Identifier: Apache-2.0
"""What is known of tensors while a graph is built."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg.graph.tensor import IndexedSlices, Tensor, has_value
from thalweg.messages import make_ndarray, make_tensor_proto, tensor_value

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import TensorLike
    from thalweg.graph.shapes import TensorShape

MakeNdarray = make_ndarray


def is_tensor(x: object) -> bool:
    """Whether x is a tensor, sparse or not, or a variable."""
    return isinstance(x, (Tensor, IndexedSlices)) or hasattr(x, "_as_tensor") or hasattr(x, "_fetch_parts")


def constant_value(tensor: TensorLike, partial: bool = False) -> Any:
    """The value of a tensor that is the same in every step, as far as it can be told; else None. What is no tensor is itself."""
    if not isinstance(tensor, Tensor):
        return None if is_tensor(tensor) else tensor
    if has_value(tensor):
        return None if tensor.dtype.name in ("resource", "variant") else tensor.numpy()
    op = tensor.op
    if op.type == "Const":
        return tensor_value(op.get_attr("value"))
    if op.type in ("Shape", "Size", "Rank"):
        return _of_shape(op)
    known = _FOLDED.get(op.type)
    if known is None:
        return None
    inputs = [constant_value(i) for i in op.inputs]
    if op.type == "Pack" and partial and op.get_attr("axis") == 0 and any(i is not None for i in inputs):
        return np.array(inputs)
    if any(i is None for i in inputs):
        return None
    return known(op, *inputs)


def _of_shape(op):
    shape = op.inputs[0].shape
    if op.type == "Rank":
        return None if shape.ndims is None else np.int32(shape.ndims)
    if not shape.is_fully_defined():
        return None
    kind = op.get_attr("out_type").as_numpy_dtype
    return np.asarray(shape.as_list(), kind) if op.type == "Shape" else kind(shape.num_elements())


_FOLDED = {
    "Identity": lambda op, x: x,
    "Cast": lambda op, x: np.asarray(x).astype(op.get_attr("DstT").as_numpy_dtype),
    "ConcatV2": lambda op, *parts: np.concatenate(parts[:-1], axis=int(parts[-1])),
    "Pack": lambda op, *parts: np.stack(parts, axis=op.get_attr("axis")),
    "Fill": lambda op, dims, value: np.full(dims, value),
    "Range": lambda op, start, limit, delta: np.arange(start, limit, delta, dtype=np.asarray(start).dtype),
    "Equal": lambda op, x, y: np.equal(x, y),
    "NotEqual": lambda op, x, y: np.not_equal(x, y),
    "Neg": lambda op, x: -x,
    "Reshape": lambda op, x, shape: np.reshape(x, shape),
}


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """The shape that a vector of sizes means, as far as it can be told."""
    from thalweg.graph.shapes import TensorShape
    value = constant_value(tensor, partial=True)
    if value is None:
        count = tensor.shape._size(0) if tensor.shape.ndims == 1 else None
        return TensorShape(None if count is None else [None] * count)
    return TensorShape([None if d is None or d == -1 else int(d) for d in value])


__all__ = ["MakeNdarray", "constant_value", "constant_value_as_shape", "is_tensor", "make_ndarray", "make_tensor_proto"]
