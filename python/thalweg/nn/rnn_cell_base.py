# SPDX-License-Identifier: Apache-2.0
"""RNNCell: what all cells of recurrent networks are. A cell maps (inputs, state) to (output, new state).

The variables of a cell are made at its first call, under the scope of that call and the cell's own name, and are the same
in all later calls: "rnn/lstm_cell/kernel", or without a loop "lstm_cell/kernel".
"""
from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING

from thalweg import dtypes, nest
from thalweg.graph import graph
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.shapes import as_shape
from thalweg.operations import array_ops
from thalweg.variables.layer import Layer
from thalweg.variables.variable_scopes import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import Constraint, DTypeLike, Initializer, Regularizer, ShapeLike, TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variable_scopes import VariableScope
    from thalweg.variables.variables import Variable

LSTMStateTuple = collections.namedtuple("LSTMStateTuple", "c h")
LSTMStateTuple.__doc__ = """The state of an LSTM cell: c, what it remembers, and h, its output.

Examples
--------
>>> state = tw.nn.rnn_cell.LSTMCell(4).zero_state(2, tw.float32)
>>> type(state).__name__, state.c.shape.as_list()
('LSTMStateTuple', [2, 4])
"""
LSTMStateTuple.dtype = property(lambda self: self.c.dtype)


def _snake(name):
    """BasicLSTMCell as basic_lstm_cell."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def _unique_name(base):
    """base, base_1, base_2 ... of the graph's cells."""
    counts = graph.get_default_graph().__dict__.setdefault("_cell_names", collections.Counter())
    number = counts[base]
    counts[base] += 1
    return f"{base}_{number}" if number else base


def zero_state(state_size: object, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
    """Zeros for a state of sizes (numbers or shapes in any structure)."""
    def zeros(size):
        shape = [size] if isinstance(size, int) else as_shape(size).as_list()
        if isinstance(batch_size, int):
            return array_ops.zeros([batch_size, *shape], dtype)
        made = array_ops.zeros(array_ops.concat([array_ops.reshape(convert_to_tensor(batch_size, dtype=dtypes.int32), [1]),
                                                 convert_to_tensor(shape, dtype=dtypes.int32)], 0), dtype)
        made.set_shape([None, *shape])
        return made
    return map_sizes(zeros, state_size)


def map_sizes(function: Callable[..., object], sizes: object) -> Any:
    """function of each size; a TensorShape is one size."""
    return nest.pack_sequence_as(sizes, [function(s) for s in nest.flatten(sizes)])


class RNNCell(Layer):
    """What own cells derive from: `state_size`, `output_size`, and `call(inputs, state)` (after `build(input_shape)`, when
    there is one) or `__call__(inputs, state, scope=None)`.

    Parameters
    ----------
    trainable : bool
        Whether the variables join the collection of those that are trained.
    name : str, optional
        Name of the cell, and of the scope of its variables; made of the class's name by default.
    dtype : DType, optional
        Type of the variables; that of the first inputs by default.
    **kwargs
        What Layer takes.

    Examples
    --------
    >>> class Sum(tw.nn.rnn_cell.RNNCell):
    ...     state_size = output_size = 2
    ...     def call(self, inputs, state):
    ...         return inputs + state, inputs + state
    >>> with tw.Session() as sess:
    ...     outputs, state = tw.nn.dynamic_rnn(Sum(), tw.ones([1, 3, 2]), dtype=tw.float32)
    ...     sess.run(state)
    array([[3., 3.]], dtype=float32)
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: object) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._base_name = name or _snake(type(self).__name__)
        self._name = name or _unique_name(self._base_name)

    def _get(self, name, default=None):
        """Cells of others may not call __init__."""
        return self.__dict__.get(name, default)

    @property
    def name(self) -> str:
        """The cell's name, unique in its graph."""
        if self._get("_name") is None:
            self._name = _unique_name(_snake(type(self).__name__))
        return self._name

    @property
    def dtype(self) -> str | None:
        """The name of the variables' type; None before the first call, where it was not given."""
        return None if self._get("_dtype") is None else self._dtype.name

    @property
    def state_size(self) -> Any:
        """The size of the state: a number, a shape, or a structure of these.

        Examples
        --------
        >>> tw.nn.rnn_cell.BasicLSTMCell(3).state_size
        LSTMStateTuple(c=3, h=3)
        """
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output: a number, a shape, or a structure of these."""
        raise NotImplementedError("Abstract method")

    @property
    def scope_name(self) -> str:
        """The name of the scope of the variables; ValueError before the first call."""
        if self._get("_scope") is None:
            raise ValueError(f"No name available for layer scope because the layer \"{self.name}\" has not been used yet.")
        return self._scope.name

    @property
    def variables(self) -> list[Variable]:
        """The cell's variables, once it was called."""
        scope = self._get("_scope")
        return [] if scope is None else [v for v in scope.global_variables()]

    weights = variables

    @property
    def trainable_variables(self) -> list[Variable]:
        """The cell's variables that are trained."""
        scope = self._get("_scope")
        return [] if scope is None else [v for v in scope.trainable_variables()]

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The cell's variables that are not trained."""
        trainable = self.trainable_variables
        return [v for v in self.variables if not any(v is t for t in trainable)]

    def add_variable(self, name: str, shape: ShapeLike, dtype: DTypeLike | None = None, initializer: Initializer | None = None,
                     regularizer: Regularizer | None = None, trainable: bool = True, constraint: Constraint | None = None,
                     **_: object) -> Variable:
        """A variable of the cell; in `build`."""
        return get_variable(name, shape, dtype or self._get("_dtype") or dtypes.float32, initializer, regularizer,
                            trainable and self._get("trainable", True), constraint=constraint)

    add_weight = add_variable

    def build(self, input_shape: Any) -> None:
        """Makes the variables, for cells that do not make them in `call`."""
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """(output, new state): what a cell computes."""
        raise NotImplementedError(f"{type(self).__name__} has neither `call` nor `__call__`")

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """(output, new state)."""
        if scope is not None:
            with variable_scope(scope) as within:
                return self._run(inputs, state, within)
        first = self._get("rnncell_scope")
        if first is None:
            first = self.rnncell_scope = get_variable_scope()
        with variable_scope(first):
            return self._run(inputs, state, None)

    def _run(self, inputs, state, scope):
        """`call` within the cell's scope."""
        if self._get("_scope") is None:
            base = self._get("_base_name") or _snake(type(self).__name__)
            given = base if scope is None and self._get("_reuse") else scope
            with variable_scope(given, default_name=base) as self._scope:
                pass
        built = self._get("built", False)
        with variable_scope(self._scope, reuse=True if built else self._get("_reuse"), auxiliary_name_scope=False) as within:
            with graph.name_scope(within.original_name_scope):
                if not built:
                    if self._get("_dtype") is None:
                        self._dtype = convert_to_tensor(nest.flatten(inputs)[0]).dtype.base_dtype
                    self.build(_shapes_of(inputs))
                    self.built = True
                return self.call(inputs, state)

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        """The state to begin with: zeros.

        Parameters
        ----------
        batch_size : int or Tensor
            The number of sequences; where it is a tensor, shapes do not know it.
        dtype : DType
            Type of the state.

        Returns
        -------
        structure of Tensor
            As `state_size` is, of shapes [batch_size, size].

        Examples
        --------
        >>> tw.nn.rnn_cell.BasicLSTMCell(3).zero_state(2, tw.float32).c.shape
        TensorShape([Dimension(2), Dimension(3)])
        """
        with graph.name_scope(type(self).__name__ + "ZeroState"):
            return zero_state(self.state_size, batch_size, dtype)

    def get_initial_state(self, inputs: TensorLike | None = None, batch_size: int | Tensor | None = None,
                          dtype: DTypeLike | None = None) -> Any:
        """zero_state for the batch of `inputs`."""
        if inputs is not None:
            inputs = convert_to_tensor(inputs)
            batch_size, dtype = array_ops.shape(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype cannot be None while constructing initial state: "
                             f"batch_size={batch_size}, dtype={dtype}")
        return self.zero_state(batch_size, dtype)


def _shapes_of(inputs):
    shapes = [convert_to_tensor(i).shape for i in nest.flatten(inputs)]
    return nest.pack_sequence_as(inputs, shapes)


class LayerRNNCell(RNNCell):
    """A cell whose variables are made in `build`."""

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None, *args: object,
                 **kwargs: object) -> tuple[Any, Any]:
        return self._run(inputs, state, scope)


def check_cell(name: str, cell: object) -> None:
    """TypeError for what is no cell."""
    missing = [f"'{p}' property is missing" for p in ("output_size", "state_size") if not hasattr(cell, p)]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        missing.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        missing.append("is not callable")
    if missing:
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(missing)}.")
