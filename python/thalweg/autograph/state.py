# SPDX-License-Identifier: Apache-2.0
"""The names that a conditional or a loop binds, and their values as tensors that go through it."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from thalweg import nest
from thalweg.eager.tensor import is_eager
from thalweg.graph import graph as graph_module, ops
from thalweg.graph.tensor import Operation, Tensor
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from thalweg.graph.graph import Graph

_LEAVES = (Tensor, bool, int, float, complex, str, bytes, np.ndarray, np.generic)


class Undefined:
    """Stands for the value of a name that has none, in lists of values only; and for a return value that is not there yet, or, at
    the end of a function that has no return statement there, will not be."""

    def __init__(self, name: str, is_return: bool = False, is_end: bool = False) -> None:
        self.name, self.is_return, self.is_end = name, is_return, is_end


def is_tensor(value: object) -> bool:
    """Whether a value is known in a step only: a tensor, or a variable, but where operations run at once."""
    return (isinstance(value, Tensor) or hasattr(value, "_as_tensor")) and not (is_eager(value) or runs_at_once())


def runs_at_once() -> bool:
    """Whether tensors have their values: control flow is then Python's."""
    return graph_module.get_default_graph()._executes


def leaves(value: object) -> list[Any]:
    return nest.flatten(value, expand_composites=True)


def is_array(leaf: object) -> bool:
    """Whether a leaf is a TensorArray or a list, of which a `flow` goes through."""
    return getattr(leaf, "_is_tensor_array", False)


def goes_through(value: object) -> bool:
    """Whether a value can be tensors: those that can not must be the same object on every way."""
    return not isinstance(value, Undefined) and all(isinstance(p, _LEAVES) or is_tensor(p) or is_array(p) for p in leaves(value))


def as_tensor(leaf: Any) -> Any:
    """A leaf as what conditionals and loops hand on."""
    return leaf if is_array(leaf) else ops.convert_to_tensor(leaf)


def packed(structure: Any, flat: list[Any]) -> Any:
    return nest.pack_sequence_as(structure, flat, expand_composites=True)


def zeros_like_it(value: object) -> Callable[[], Any] | None:
    """A function that makes a value of the same types and shapes, empty where a dimension is not known, a scalar where a rank is not;
    None where it holds arrays."""
    flat = [as_tensor(leaf) for leaf in leaves(value)]
    if not all(isinstance(t, Tensor) for t in flat):
        return None
    shapes = [([d or 0 for d in t.shape.as_list()] if t.shape.ndims is not None else [], t.dtype.base_dtype) for t in flat]
    return lambda: packed(value, [array_ops.zeros(shape, dtype) for shape, dtype in shapes])


class Effects:
    """What a branch or a body does to variables, in the order in which it is written, where the function around it keeps order."""

    def __init__(self, graph: Graph) -> None:
        self._state = graph._state
        self.around = self._state.effects
        self.last = None  # the last one of the branch or body

    @property
    def before(self) -> list[Operation]:
        """What has to be done before."""
        return [self.around.last] if self.around is not None and self.around.last is not None else []

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        if self.around is None:
            yield
            return
        self._state.effects = inner = self.around.inner()
        try:
            yield
        finally:
            self._state.effects = self.around
        self.last = inner.last

    def ordered(self, values: list[Any]) -> list[Any]:
        """The values, once the effects inside have happened."""
        if self.last is None:
            return values
        with graph_module.control_dependencies([self.last]):
            return [v.identity() if is_array(v) else array_ops.identity(v) for v in values]

    def happened(self, tensor: Tensor) -> None:
        """`tensor` comes once they have. A function runs what is stateful in it, not conditionals and loops that nobody reads: an
        operation that is, and does nothing, stands for them."""
        if self.last is not None:
            with graph_module.control_dependencies([tensor.op]):
                ops.apply("Timestamp", [])


def value_of(name: str, read: Callable[[], Any]) -> Any:
    """What a name or a place in an object holds."""
    try:
        return read()
    except (NameError, AttributeError, LookupError):
        return Undefined(name)
