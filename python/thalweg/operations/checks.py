# SPDX-License-Identifier: Apache-2.0
"""Assertions: operations that fail in a step where values are not as they should be. What is known when the node is made is checked
then."""
from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes, errors
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor, group, no_op
from thalweg.graph.tensor import Tensor, has_value, name_of
from thalweg.messages import tensor_value
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DTypeLike, Element, IntLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.tensor import Operation


def Assert(condition: TensorLike, data: Sequence[TensorLike], summarize: int | None = None, name: str | None = None) -> Operation:
    """An operation that fails where the condition does not hold, and shows `data`."""
    return apply("Assert", [condition, list(data)], {"summarize": summarize}, name=name or "Assert")


def with_dependencies(dependencies: Sequence[Element], output_tensor: Tensor, name: str | None = None) -> Tensor:
    """output_tensor once the dependencies have run."""
    with graph.control_dependencies(dependencies):
        return apply("Identity", [output_tensor], name=name or "control_dependency")


def _static(tensor):
    """The value where it is a constant, else None."""
    if has_value(tensor):
        return tensor._numpy()
    op = getattr(tensor, "op", None)  # rows with values have none
    return tensor_value(op.get_attr("value")) if op is not None and op.type == "Const" else None


def _assert(condition, data, summarize, name, message):
    known = _static(condition)
    if known is not None and not np.all(known):
        raise errors.InvalidArgumentError(None, getattr(condition, "op", None), message)
    return Assert(condition, data, summarize, name=name)


_ZERO = object()


def _holds(op, words, x, y, static, data, summarize, message, name):
    """An assertion about all elements, compared with those of y or with _ZERO, which is not shown."""
    with name_scope(name or "assert_" + words[0]):
        x = convert_to_tensor(x, name="x")
        is_zero = y is _ZERO
        y = convert_to_tensor(np.zeros([], x.dtype.as_numpy_dtype) if is_zero else y, x.dtype.base_dtype, name="y")
        failed = f"Condition x {words[1]} {0 if is_zero else 'y'} did not hold element-wise:"
        first = [message or ""] if message or is_zero else []
        holds = math_ops.reduce_all(op(x, y))
        a, b = _static(x), _static(y)
        if a is not None and b is not None and not np.all(static(a, b)):
            shown = [f"x ({name_of(x)}) = ", a, *([] if is_zero else [f"y ({name_of(y)}) = ", b])]
            raise errors.InvalidArgumentError(None, getattr(x, "op", None), "\n".join(map(str, [*first, failed, *shown])))
        if data is None:
            data = [*first, failed, f"x ({name_of(x)}) = ", x]
            data = data if is_zero else [*data, f"y ({name_of(y)}) = ", y]
        return Assert(holds, data, summarize)


def _operation(name):
    return lambda x, y: apply(name, [x, y])


def assert_equal(x: TensorLike, y: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                 message: str | None = None, name: str | None = None) -> Operation:
    """x == y, element by element."""
    return _holds(_operation("Equal"), ("equal", "=="), x, y, np.equal, data, summarize, message, name)


def assert_none_equal(x: TensorLike, y: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                      message: str | None = None, name: str | None = None) -> Operation:
    """x != y, element by element."""
    return _holds(_operation("NotEqual"), ("none_equal", "!="), x, y, np.not_equal, data, summarize, message, name)


def assert_less(x: TensorLike, y: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                message: str | None = None, name: str | None = None) -> Operation:
    """x < y, element by element."""
    return _holds(_operation("Less"), ("less", "<"), x, y, np.less, data, summarize, message, name)


def assert_less_equal(x: TensorLike, y: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                      message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails unless x <= y everywhere.

    Parameters
    ----------
    x, y : numeric tensors of one type
        Of shapes that broadcast.
    data : list of tensors, optional
        Shown when it fails; x and y unless given.
    summarize : int, optional
        How many elements of each are shown.
    message : str, optional
        What the error begins with.
    name : str, optional
        Of the operation.

    Returns
    -------
    Operation
        For control_dependencies. It ends a step with errors.InvalidArgumentError.

    Raises
    ------
    errors.InvalidArgumentError
        Already here, where both are constants.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [2])
    >>> with tw.control_dependencies([tw.assert_less_equal(x, 1.0)]):
    ...     y = tw.identity(x)
    >>> with tw.Session() as sess:
    ...     print(sess.run(y, {x: [0.5, 1.0]}))
    [0.5 1. ]
    """
    return _holds(_operation("LessEqual"), ("less_equal", "<="), x, y, np.less_equal, data, summarize, message, name)


def assert_greater(x: TensorLike, y: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                   message: str | None = None, name: str | None = None) -> Operation:
    """x > y, element by element."""
    return _holds(_operation("Greater"), ("greater", ">"), x, y, np.greater, data, summarize, message, name)


def assert_greater_equal(x: TensorLike, y: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                         message: str | None = None, name: str | None = None) -> Operation:
    """x >= y, element by element."""
    return _holds(_operation("GreaterEqual"), ("greater_equal", ">="), x, y, np.greater_equal, data, summarize, message, name)


def assert_negative(x: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                    message: str | None = None, name: str | None = None) -> Operation:
    """x < 0, element by element."""
    return _holds(_operation("Less"), ("negative", "<"), x, _ZERO, np.less, data, summarize, message, name)


def assert_positive(x: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                    message: str | None = None, name: str | None = None) -> Operation:
    """Makes an operation that fails unless all elements are larger than 0.

    Parameters
    ----------
    x : numeric tensor_like
    data : list of tensor_like, optional
        What the error shows; x unless given.
    summarize : int, optional
        How many elements of each tensor the error shows.
    message : str, optional
        Comes first in the error.
    name : str, optional

    Returns
    -------
    Operation
        Fails with errors.InvalidArgumentError.

    Examples
    --------
    >>> x = tw.constant([1.0, 2.0])
    >>> with tw.control_dependencies([tw.assert_positive(x)]):
    ...     y = tw.sqrt(x)
    >>> with tw.Session() as sess:
    ...     print(sess.run(y).shape)
    (2,)
    """
    return _holds(_operation("Greater"), ("positive", ">"), x, _ZERO, np.greater, data, summarize, message, name)


def assert_non_negative(x: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                        message: str | None = None, name: str | None = None) -> Operation:
    """x >= 0, element by element."""
    return _holds(_operation("GreaterEqual"), ("non_negative", ">="), x, _ZERO, np.greater_equal, data, summarize, message, name)


def assert_non_positive(x: TensorLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                        message: str | None = None, name: str | None = None) -> Operation:
    """x <= 0, element by element."""
    return _holds(_operation("LessEqual"), ("non_positive", "<="), x, _ZERO, np.less_equal, data, summarize, message, name)


def assert_near(x: TensorLike, y: TensorLike, rtol: TensorLike | None = None, atol: TensorLike | None = None,
                data: Sequence[TensorLike] | None = None, summarize: int | None = None, message: str | None = None,
                name: str | None = None) -> Operation:
    """|x - y| <= atol + rtol * |y|, element by element; both are ten units in the last place by default."""
    with name_scope(name or "assert_near"):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        small = 10 * np.finfo(x.dtype.as_numpy_dtype).eps
        relative, absolute = (convert_to_tensor(small if t is None else t, x.dtype) for t in (rtol, atol))
        near = apply("LessEqual", [apply("Abs", [x - y]), absolute + relative * apply("Abs", [y])])
        if data is None:
            data = [message or "", "x and y not equal to tolerance", f"x ({name_of(x)}) = ", x, f"y ({name_of(y)}) = ", y]
        return Assert(math_ops.reduce_all(near), data, summarize)


def _ranks(x, ranks, good, words, data, summarize, message, name, default_name):
    """An assertion about the rank; at once where the rank is known."""
    with name_scope(name or default_name):
        x = convert_to_tensor(x, name="x")
        ranks = [convert_to_tensor(r, dtypes.int32) for r in ranks]
        known = [_static(r) for r in ranks]
        for value, r in zip(known, ranks):
            if r.shape.ndims not in (0, None):
                raise ValueError(f"{message or ''}Rank must be a scalar.")
            if value is not None and value.ndim != 0:
                raise ValueError(f"{message or ''}Rank must be a scalar.")
        if x.shape.ndims is not None and all(v is not None for v in known):
            given = tuple(int(v) for v in known)
            if not good(x.shape.ndims, given):
                asked = f"{words} {given if words == 'in' else given[0]}".removeprefix("of ")
                raise ValueError(f"{message or ''}.  Tensor {name_of(x)} must have rank {asked}.  "
                                 f"Received rank {x.shape.ndims}, shape {x.shape}")
            return no_op(name="static_checks_determined_all_ok")
        rank = array_ops.rank(x)
        op = {"at least": "GreaterEqual"}.get(words, "Equal")
        found = [apply(op, [rank, r]) for r in ranks]
        condition = found[0]
        for other in found[1:]:
            condition = apply("LogicalOr", [condition, other])
        if data is None:
            data = [message or "", f"Tensor {name_of(x)} must have rank {words}".removesuffix(" of"), *ranks, "Received shape: ", array_ops.shape(x)]
        return Assert(condition, data, summarize)


def assert_rank(x: TensorLike, rank: IntLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                message: str | None = None, name: str | None = None) -> Operation:
    """Makes an operation that fails unless a tensor has this rank.

    Parameters
    ----------
    x : tensor_like
    rank : int, or scalar integer tensor
    data : list of tensor_like, optional
        What the error shows; the shape of x unless given.
    summarize : int, optional
        How many elements of each tensor the error shows.
    message : str, optional
        Comes first in the error.
    name : str, optional

    Returns
    -------
    Operation

    Raises
    ------
    ValueError
        The rank is known already, and another one; else the step ends with errors.InvalidArgumentError.

    Examples
    --------
    >>> tw.assert_rank(tw.zeros([2, 3]), 2).type
    'NoOp'
    """
    return _ranks(x, [rank], lambda r, wanted: r == wanted[0], "of", data, summarize, message, name, "assert_rank")


def assert_rank_at_least(x: TensorLike, rank: IntLike, data: Sequence[TensorLike] | None = None, summarize: int | None = None,
                         message: str | None = None, name: str | None = None) -> Operation:
    """x has this rank or a higher one."""
    return _ranks(x, [rank], lambda r, wanted: r >= wanted[0], "at least", data, summarize, message, name, "assert_rank_at_least")


def assert_rank_in(x: TensorLike, ranks: Sequence[IntLike], data: Sequence[TensorLike] | None = None,
                   summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """x has one of these ranks."""
    return _ranks(x, list(ranks), lambda r, wanted: r in wanted, "in", data, summarize, message, name, "assert_rank_in")


def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """The tensor itself, which must be known to be a scalar."""
    tensor = convert_to_tensor(tensor)
    if tensor.shape.ndims != 0:
        raise ValueError(f"{message or ''}Expected scalar shape for {name_of(tensor)}, saw shape: {tensor.shape}.")
    return tensor


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """x is of an integer type."""
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f"{message or ''}  Expected \"x\" to be integer type.  Found: {name_of(x)} of dtype {x.dtype}")
    return no_op("statically_determined_was_integer")


def assert_type(tensor: Tensor, tf_type: DTypeLike, message: str | None = None, name: str | None = None) -> Operation:
    """The tensor is of this type."""
    tensor = convert_to_tensor(tensor)
    if tensor.dtype.base_dtype is not dtypes.as_dtype(tf_type).base_dtype:
        raise TypeError(f"{message or ''}  {name_of(tensor)} must be of type {dtypes.as_dtype(tf_type)!r}; got {tensor.dtype!r}")
    return no_op("statically_determined_correct_type")


def assert_proper_iterable(values: object) -> None:
    """`values` is a list or the like, no tensor and no string."""
    if not isinstance(values, collections.abc.Iterable) and not hasattr(values, "dtype"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')
    if hasattr(values, "dtype") or isinstance(values, (str, bytes)):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')


def assert_same_float_dtype(tensors: Sequence[Tensor] | None = None, dtype: DTypeLike | None = None) -> DType:
    """The one floating type of all the tensors; float32 when there are none."""
    for tensor in tensors or []:
        if tensor is None:
            continue
        found = convert_to_tensor(tensor).dtype.base_dtype
        if dtype is not None and found is not dtypes.as_dtype(dtype):
            raise ValueError(f"Tensor type mismatch: expected {dtypes.as_dtype(dtype).name}, got {found.name}")
        dtype = found
    dtype = dtypes.as_dtype(dtype or dtypes.float32)
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype.name}.")
    return dtype


def is_numeric_tensor(tensor: object) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, Tensor) and (tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex)


def _differences(x):
    flat = array_ops.reshape(x, [-1])
    return flat[1:] - flat[:-1]


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether every element is at least the one before it."""
    steps = _differences(convert_to_tensor(x))
    return math_ops.reduce_all(apply("LessEqual", [array_ops.zeros([], steps.dtype), steps]), name=name)


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether every element is larger than the one before it."""
    steps = _differences(convert_to_tensor(x))
    return math_ops.reduce_all(apply("Less", [array_ops.zeros([], steps.dtype), steps]), name=name)


def verify_tensor_all_finite(t: TensorLike | None = None, msg: str | None = None, name: str | None = None,
                             x: TensorLike | None = None, message: str | None = None) -> Tensor:
    """The tensor itself; a step in which it has NaN or infinite elements fails."""
    t = x if t is None else t
    t = convert_to_tensor(t)
    return with_dependencies([apply("CheckNumerics", [t], {"message": message if msg is None else msg or ""})], t)


def add_check_numerics_ops() -> Operation:
    """Makes an operation that fails when any floating-point tensor of the graph has NaN or infinite elements.

    Returns
    -------
    Operation
        Fails with errors.InvalidArgumentError, which names the tensor.

    Examples
    --------
    >>> y = tw.log(tw.constant([1.0, 0.0]))
    >>> check = tw.compat.v1.add_check_numerics_ops()
    >>> with tw.Session() as sess:
    ...     try:
    ...         sess.run(check)
    ...     except tw.errors.InvalidArgumentError:
    ...         print("not all are numbers")
    not all are numbers
    """
    checks = []
    for op in graph.get_default_graph().get_operations():
        if op.type in ("Placeholder", "CheckNumerics"):
            continue
        for output in op.outputs:
            if output.dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
                with graph.control_dependencies(checks[-1:]):
                    checks.append(apply("CheckNumerics", [output], {"message": f"{output.name}"}).op)
    return group(*checks)
