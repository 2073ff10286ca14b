# SPDX-License-Identifier: Apache-2.0
"""What Python's operators make of tensors: x + y, x @ y, -x, x[1:3]. Importing any module of this folder brings them."""
from __future__ import annotations

from typing import TYPE_CHECKING, overload

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor, is_dense
from thalweg.graph.tensor import IndexedSlices, Tensor

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import DTypeLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.variables.variables import Variable


@overload
def cast(x: Tensor, dtype: DTypeLike, name: str | None = None) -> Tensor: ...  # first: checkers take it for what has no type
@overload
def cast(x: IndexedSlices, dtype: DTypeLike, name: str | None = None) -> IndexedSlices: ...
@overload
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor: ...
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor | IndexedSlices:
    """x with elements of another type.

    Parameters
    ----------
    x : Tensor, IndexedSlices or value
    dtype : DType
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor or IndexedSlices
        Of type `dtype` and the shape of `x`. Real numbers lose what is behind the point, integers wrap around.

    Raises
    ------
    TypeError
        There is no such type.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.cast([1.8, -1.8], tw.int32)))
    [ 1 -1]
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, wanted, name), x.indices, x.dense_shape)
    x = convert_to_tensor(x, name="x")
    if x.dtype.base_dtype is wanted:
        return x
    return apply("Cast", [x], {"DstT": wanted}, name=name or "Cast")


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides element by element as real numbers: integers are converted first.

    Parameters
    ----------
    x, y : tensor_like
        Of one numeric type; they are broadcast to each other.
    name : str, optional

    Returns
    -------
    Tensor
        float32 for integers of up to 16 bits, float64 for larger ones, else the type of `x`.

    Raises
    ------
    TypeError
        The types differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.truediv([7, 8], 2)))
    [3.5 4. ]
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        if not is_dense(y):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
        elif not is_dense(x):
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
        if x.dtype.base_dtype is not y.dtype.base_dtype:
            raise TypeError(f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r}")
        base = x.dtype.base_dtype
        if base.is_integer:
            wanted = dtypes.float32 if base.size < 4 else dtypes.float64
            x, y = cast(x, wanted), cast(y, wanted)
        return apply("RealDiv", [x, y], name=scope)


def logical_xor(x: TensorLike, y: TensorLike, name: str = "LogicalXor") -> Tensor:
    """Says element by element whether just one of two is true.

    Parameters
    ----------
    x, y : bool tensors
        They are broadcast to each other.
    name : str

    Returns
    -------
    Tensor
        bool.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.logical_xor([True, True], [True, False])))
    [False  True]
    """
    either = apply("LogicalOr", [x, y])
    both = apply("LogicalAnd", [x, y])
    return apply("LogicalAnd", [either, apply("LogicalNot", [both])], name=name)


def matmul(a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
           adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None) -> Tensor:
    """The product of two matrices, or of the matrices in the last two dimensions.

    Parameters
    ----------
    a, b : tensors of numbers of one type
        Of rank 2 or more; the columns of a are as many as the rows of b.
    transpose_a, transpose_b : bool, optional
        Whether the matrices are transposed before.
    adjoint_a, adjoint_b : bool, optional
        Whether they are also conjugated.
    a_is_sparse, b_is_sparse : bool, optional
        Have no effect on the values.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type of both, shape [..., rows of a, columns of b].

    Raises
    ------
    ValueError
        The shapes do not fit, where they are known, or a matrix is both transposed and adjoint.
    TypeError
        Types differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.matmul([[1.0, 2.0]], [[3.0], [4.0]])))
    [[11.]]
    """
    if transpose_a and adjoint_a or transpose_b and adjoint_b:
        raise ValueError("Only one of transpose and adjoint can be True.")
    with name_scope(name, "MatMul", [a, b]) as scope:
        a = convert_to_tensor(a, dtype=dtype_beside(a, b), name="a")
        b = convert_to_tensor(b, dtype=a.dtype.base_dtype if not is_dense(b) else None, name="b")
        rank_a, rank_b = a.shape.ndims, b.shape.ndims
        if (rank_a is None or rank_a > 2) and (rank_b is None or rank_b > 2):
            if a.dtype.is_complex:
                a = apply("Conj", [a]) if transpose_a else a
                b = apply("Conj", [b]) if transpose_b else b
            return apply("BatchMatMulV2", [a, b],
                         {"adj_x": transpose_a or adjoint_a, "adj_y": transpose_b or adjoint_b}, name=scope)
        if a.dtype.is_complex:
            a = apply("Conj", [a]) if adjoint_a else a
            b = apply("Conj", [b]) if adjoint_b else b
        return apply("MatMul", [a, b], {"transpose_a": transpose_a or adjoint_a, "transpose_b": transpose_b or adjoint_b},
                     name=scope)


def dtype_beside(value: Any, other: Any) -> DType | None:
    """The type that a plain value takes from the tensor beside it."""
    return None if is_dense(value) or not is_dense(other) else other.dtype.base_dtype


_BINARY = {"add": ("Add", "add"), "sub": ("Sub", "sub"), "mul": ("Mul", "mul"), "floordiv": ("FloorDiv", "floordiv"),
           "mod": ("FloorMod", "mod"), "pow": ("Pow", "pow"), "lt": ("Less", "Less"), "le": ("LessEqual", "LessEqual"),
           "gt": ("Greater", "Greater"), "ge": ("GreaterEqual", "GreaterEqual"), "and": ("LogicalAnd", "and"),
           "or": ("LogicalOr", "or"), "xor": (None, None), "matmul": (None, None), "truediv": (None, None)}


def binary(name: str, x: TensorLike, y: TensorLike) -> Tensor:
    """What x <operator> y makes; a value that is no tensor takes the other's type."""
    op, node_name = _BINARY[name]
    if op is not None:
        return apply(op, [x, y], name=node_name)
    with name_scope(name) as scope:
        return {"xor": logical_xor, "matmul": matmul, "truediv": truediv}[name](x, y, name=scope)


def strided_slice_of(tensor: Tensor, key: Any, variable: Variable | None = None) -> Tensor:
    """tensor[key] as one StridedSlice; key has numbers, slices, ..., None and scalar tensors. A part of a variable has
    `assign`, which changes that part."""
    keys = key if isinstance(key, (tuple, list)) else (key,)
    begin, end, strides = [], [], []
    masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    for i, k in enumerate(keys):
        bit = 1 << i
        first, last, step = 0, 0, 1
        if isinstance(k, slice):
            first, last, step = (0 if k.start is None else k.start, 0 if k.stop is None else k.stop,
                                 1 if k.step is None else k.step)
            masks["begin_mask"] |= bit if k.start is None else 0
            masks["end_mask"] |= bit if k.stop is None else 0
        elif k is Ellipsis:
            masks["ellipsis_mask"] |= bit
        elif k is None:
            masks["new_axis_mask"] |= bit
        else:
            if isinstance(k, (str, float)):
                raise TypeError(f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
                                f"tf.int32/tf.int64 tensors are valid indices, got {k!r}")
            first, last = k, k + 1
            masks["shrink_axis_mask"] |= bit
        begin.append(first)
        end.append(last)
        strides.append(step)
    with name_scope(None, "strided_slice", [tensor]) as scope:
        packed = _packed_indices(begin, end, strides)
        part = apply("StridedSlice", [tensor, *packed], masks, name=scope)
    if variable is not None:
        part.assign = lambda value, name=None: variable._assign_part(packed, masks, value, name or scope + "_assign")
    return part


def _packed_indices(*lists):
    """Vectors of one type of lists of numbers and scalar tensors."""
    wide = any(is_dense(p) and p.dtype.base_dtype is dtypes.int64 for parts in lists for p in parts)
    wanted = dtypes.int64 if wide else dtypes.int32
    return [apply("Pack", [[cast(p, wanted) if is_dense(p) else constant(p, wanted) for p in parts]], {"axis": 0}, name="stack")
            if any(map(is_dense, parts)) else constant([int(p) for p in parts], wanted, name="stack") for parts in lists]


def _binary(op, python_name):
    def operate(self, other):
        return binary(op, self, other)
    operate.__name__ = python_name
    return operate


def _reflected(op, python_name):
    def operate(self, other):
        return binary(op, other, self)
    operate.__name__ = python_name
    return operate


_OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod",
              "pow": "pow", "matmul": "matmul", "and": "and", "or": "or", "xor": "xor", "div": "truediv"}


def add_operators(cls: Any) -> Any:
    """Arithmetic on anything that converts to a tensor."""
    for name, op in _OPERATORS.items():
        setattr(cls, f"__{name}__", _binary(op, f"__{name}__"))
        setattr(cls, f"__r{name}__", _reflected(op, f"__r{name}__"))
    for name in ("lt", "le", "gt", "ge"):
        setattr(cls, f"__{name}__", _binary(name, f"__{name}__"))
    cls.__neg__ = lambda self: apply("Neg", [self], {}, name="Neg")
    cls.__abs__ = lambda self: apply("Abs", [self], {}, name="Abs")
    cls.__invert__ = lambda self: apply("LogicalNot", [self], {}, name="LogicalNot")
    return cls


add_operators(Tensor)
Tensor.__getitem__ = strided_slice_of
