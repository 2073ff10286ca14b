# SPDX-License-Identifier: Apache-2.0
"""The types that annotations of the package share.

A module takes them for type checkers only, so that an import costs nothing:

    from __future__ import annotations
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        from thalweg.base.typing import DTypeLike, TensorLike
"""
from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from thalweg.control.tensor_array import TensorArray
    from thalweg.dtypes import DType
    from thalweg.graph.shapes import Dimension, TensorShape
    from thalweg.graph.sparse_tensor import SparseTensor, SparseTensorValue
    from thalweg.graph.tensor import IndexedSlices, Operation, Tensor
    from thalweg.messages import TensorProto, TensorShapeProto
    from thalweg.variables.variables import Variable

T = TypeVar("T")
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., object])


class AsTensor(Protocol):
    """What stands for a tensor: variables, parts of variables, handles of values that a session keeps."""

    def _as_tensor(self) -> Tensor: ...


class Named(Protocol):
    """What has the name of a node or a tensor."""

    @property
    def name(self) -> str: ...


class Operators:
    """Python's operators of tensors and variables, which graph/operators.py adds by a loop. For type checkers only."""

    def __add__(self, other: TensorLike) -> Tensor: ...
    def __radd__(self, other: TensorLike) -> Tensor: ...
    def __sub__(self, other: TensorLike) -> Tensor: ...
    def __rsub__(self, other: TensorLike) -> Tensor: ...
    def __mul__(self, other: TensorLike) -> Tensor: ...
    def __rmul__(self, other: TensorLike) -> Tensor: ...
    def __truediv__(self, other: TensorLike) -> Tensor: ...
    def __rtruediv__(self, other: TensorLike) -> Tensor: ...
    def __floordiv__(self, other: TensorLike) -> Tensor: ...
    def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
    def __mod__(self, other: TensorLike) -> Tensor: ...
    def __rmod__(self, other: TensorLike) -> Tensor: ...
    def __pow__(self, other: TensorLike) -> Tensor: ...
    def __rpow__(self, other: TensorLike) -> Tensor: ...
    def __matmul__(self, other: TensorLike) -> Tensor: ...
    def __rmatmul__(self, other: TensorLike) -> Tensor: ...
    def __and__(self, other: TensorLike) -> Tensor: ...
    def __rand__(self, other: TensorLike) -> Tensor: ...
    def __or__(self, other: TensorLike) -> Tensor: ...
    def __ror__(self, other: TensorLike) -> Tensor: ...
    def __xor__(self, other: TensorLike) -> Tensor: ...
    def __rxor__(self, other: TensorLike) -> Tensor: ...
    def __lt__(self, other: TensorLike) -> Tensor: ...
    def __le__(self, other: TensorLike) -> Tensor: ...
    def __gt__(self, other: TensorLike) -> Tensor: ...
    def __ge__(self, other: TensorLike) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __getitem__(self, key: Key | tuple[Key, ...]) -> Tensor: ...


# What may stand in tensor[...].
Key: TypeAlias = "IntLike | slice | types.EllipsisType | None"
# An array of numpy with elements of any type.
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Number: TypeAlias = "float | np.number[Any] | np.bool"  # int and bool count as float
Scalar: TypeAlias = "complex | str | bytes | np.generic"
# A value without tensors: what is fed, compared, written to files.
ArrayLike: TypeAlias = "Scalar | Array | Sequence[ArrayLike]"
# What an attribute that is a tensor takes.
TensorValue: TypeAlias = "TensorProto | ArrayLike"
# What convert_to_tensor makes a tensor of.
TensorLike: TypeAlias = "Tensor | AsTensor | IndexedSlices | Scalar | Array | TensorShape | Dimension | Sequence[TensorLike]"
# A tensor of integers, or integers.
IntLike: TypeAlias = "Tensor | AsTensor | Dimension | int | np.integer[Any]"
IntsLike: TypeAlias = "Tensor | AsTensor | Array | TensorShape | Sequence[IntLike]"
Axis: TypeAlias = "IntLike | IntsLike"
SparseLike: TypeAlias = "SparseTensor | SparseTensorValue"
# Known when the graph is built; None stands for an unknown rank, None or -1 for an unknown dimension.
ShapeLike: TypeAlias = "TensorShape | TensorShapeProto | Sequence[int | Dimension | None] | int | Dimension | None"
# Known in a step at the latest.
DynamicShape: TypeAlias = "IntsLike | int"
DTypeLike: TypeAlias = "DType | str | int | type[object] | np.dtype[Any]"
PathLike: TypeAlias = "str | bytes | os.PathLike[str]"
Text: TypeAlias = "str | bytes"
Device: TypeAlias = "str | Callable[[Operation], str | None] | Named | None"
# What as_graph_element finds.
Element: TypeAlias = "Tensor | Operation | AsTensor | str | bytes"
# One variable, or several.
Variables: TypeAlias = "Sequence[Variable]"
Gradient: TypeAlias = "Tensor | IndexedSlices"
# What Session.run takes: tensors, operations, names, composites, classes that a program made known, and lists, tuples and
# dictionaries of them. Its values have the same structure, which types cannot tell.
Fetches: TypeAlias = "object"
# Mapping has an invariant key, and programs feed by tensors, names and composites beside each other.
FeedDict: TypeAlias = "Mapping[Any, object]"
# A tensor, or lists, tuples, dictionaries and named tuples of them, to any depth.
Nested: TypeAlias = "TensorLike | SparseTensor | TensorArray | Sequence[Nested] | Mapping[Any, Nested] | None"
Initializer: TypeAlias = "Callable[..., TensorLike]"
Regularizer: TypeAlias = "Callable[[Tensor], Tensor | None]"
Constraint: TypeAlias = "Callable[[Tensor], Tensor]"
Activation: TypeAlias = "Callable[[Tensor], Tensor]"
Partitioner: TypeAlias = "Callable[..., Sequence[int]]"
Getter: TypeAlias = "Callable[..., Any]"
