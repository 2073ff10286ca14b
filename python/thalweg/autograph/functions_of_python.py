# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that converted code may call with tensors: len, range, int, float, abs, print."""
from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.autograph import lists, state
from thalweg.autograph.features import Feature
from thalweg.graph import ops
from thalweg.operations import array_ops, math_ops, printing
from thalweg.operations.string_ops import string_to_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _len(value: Any) -> Any:
    if isinstance(value, lists.TensorList):
        return value.size()
    if not state.is_tensor(value):
        return len(value)
    tensor = ops.convert_to_tensor(value)
    if tensor.shape.ndims == 0:
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {tensor.shape}")
    size = tensor.shape[0].value if tensor.shape.ndims is not None else None
    return array_ops.shape(tensor)[0] if size is None else size


def _range(*arguments: Any) -> Any:
    return math_ops.range_(*arguments) if any(map(state.is_tensor, arguments)) else range(*arguments)


def _number(python: type, dtype: Any) -> Callable[..., Any]:
    def convert(value: Any = 0, *base: Any) -> Any:
        if not state.is_tensor(value):
            return python(value, *base)
        tensor = ops.convert_to_tensor(value)
        if base:
            raise NotImplementedError(f"{python.__name__} of a tensor with a base")
        return string_to_number(tensor, dtype) if tensor.dtype is dtypes.string else math_ops.cast(tensor, dtype)
    return convert


def _abs(value: Any) -> Any:
    return math_ops.abs_(value) if state.is_tensor(value) else abs(value)


def _print(*values: Any, **settings: Any) -> Any:
    if not any(map(state.is_tensor, values)):
        return print(*values, **settings)
    return printing.print_(*values, **settings)


def _on_dataset(method: str, python: Callable[..., Any]) -> Callable[..., Any]:
    """`enumerate` and `map` of a dataset are those of datasets."""
    def call(*arguments: Any, **settings: Any) -> Any:
        found = [a for a in arguments if hasattr(a, "_for_statement")]
        if len(found) != 1:
            return python(*arguments, **settings)
        return getattr(found[0], method)(*(a for a in arguments if a is not found[0]), **settings)
    return call


_TABLE = {builtins.len: _len, builtins.range: _range, builtins.int: _number(int, dtypes.int32), builtins.float: _number(float, dtypes.float32),
          builtins.abs: _abs, builtins.enumerate: _on_dataset("enumerate", enumerate), builtins.map: _on_dataset("map", map)}


def table(features: frozenset[Feature]) -> dict[Any, Callable[..., Any]]:
    """{function of Python: what stands for it}."""
    return {**_TABLE, builtins.print: _print} if Feature.BUILTIN_FUNCTIONS in features else _TABLE
