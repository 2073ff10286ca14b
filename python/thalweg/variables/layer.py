# SPDX-License-Identifier: Apache-2.0
"""Layer: variables that are made at the first call and used again by the next ones."""
from __future__ import annotations

import inspect
import re
import types
from typing import TYPE_CHECKING

from thalweg import dtypes, nest
from thalweg.autograph import conversion
from thalweg.graph import graph
from thalweg.graph.default_session import get_default_session
from thalweg.graph.graph import GraphKeys
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.variables import init_ops
from thalweg.variables.variable_scopes import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from thalweg.base.typing import Array, ArrayLike, Constraint, DTypeLike, F, Initializer, Partitioner, Regularizer, ShapeLike, TensorLike
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variable_modes import VariableAggregation, VariableSynchronization
    from thalweg.variables.variables import Variable


def _snake(name):
    """"Conv2DTranspose" -> "conv2d_transpose"."""
    return re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", name).lower()


def _no_regularizer(_):
    """Keeps get_variable from using the scope's: the layer does it under its own name."""


class InputSpec:
    """What a layer takes: rank, dtype, sizes of axes."""

    def __init__(self, dtype: DTypeLike | None = None, shape: ShapeLike = None, ndim: int | None = None,
                 max_ndim: int | None = None, min_ndim: int | None = None, axes: Mapping[int, int] | None = None) -> None:
        self.dtype, self.shape, self.max_ndim, self.min_ndim = dtype, shape, max_ndim, min_ndim
        self.ndim = len(shape) if shape is not None else ndim
        self.axes = axes or {}

    def check(self, layer: Layer, x: TensorLike) -> None:
        rank = x.shape.ndims
        if rank is None:
            return
        problem = None
        if self.ndim is not None and rank != self.ndim:
            problem = f"expected ndim={self.ndim}, found ndim={rank}"
        elif self.max_ndim is not None and rank > self.max_ndim:
            problem = f"expected max_ndim={self.max_ndim}, found ndim={rank}"
        elif self.min_ndim is not None and rank < self.min_ndim:
            problem = f"expected min_ndim={self.min_ndim}, found ndim={rank}"
        for axis, size in self.axes.items():
            if problem is None and size is not None and x.shape._size(axis) not in (size, None):
                problem = f"expected axis {axis} of input shape to have value {size} but got shape {x.shape}"
        if problem:
            raise ValueError(f"Input 0 of layer {layer.name} is incompatible with the layer: {problem}. Full shape received: "
                             f"{x.shape}")


_NAMED = ("activation", "initializer", "regularizer", "constraint")  # arguments that tw.keras has names for: see layers/arguments.py


def _told(argument, value):
    """A value as get_config tells it."""
    if argument.rpartition("_")[2] not in _NAMED:
        return value
    if value is None:
        return "linear" if argument == "activation" else None
    if not hasattr(value, "get_config"):
        return value.__name__
    return {"class_name": type(value).__name__, "config": value.get_config()}


def _at_no_node(what):
    def get(self, node_index):
        raise RuntimeError(f"The layer has never been called and thus has no defined {what}.")
    return get


class Layer:
    """Base of layers: `build` makes the variables, `call` computes; `layer(x)` does both as needed."""

    _CONFIG = ""  # arguments of the constructor that get_config tells, beside the base's

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: object) -> None:
        self.trainable = trainable
        self._reuse, scope = kwargs.pop("_reuse", None), kwargs.pop("_scope", None)
        self.activity_regularizer = kwargs.pop("activity_regularizer", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {sorted(kwargs)[0]}")
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        self._base_name = name or _snake(type(self).__name__)
        self._given_name, self._scope = name, None
        self.built, self.input_spec = False, None
        self._trainable_weights, self._non_trainable_weights = [], []
        self._losses, self._updates, self._graph = [], [], None
        if scope is not None:
            with variable_scope(scope) as captured:
                self._scope = captured

    def _set_arguments(self, **arguments):
        """Arguments become attributes."""
        for name, value in arguments.items():
            setattr(self, name, value)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a layer, as values that JSON has: for from_config."""
        base = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        if not self._CONFIG:
            more = set(inspect.getfullargspec(type(self).__init__).args) - {"self", *base}
            if more:
                raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        return {**base, **{name: _told(name, getattr(self, name)) for name in self._CONFIG.split()}}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """A layer of what get_config gave."""
        return cls(**config)

    # ---- what a kind of layer defines ----
    def build(self, input_shape: Any) -> None:
        """Makes the variables, once the shape of the inputs is known; a kind of layer says how."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """What the layer computes of its inputs; a kind of layer says it."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of what the layer gives for inputs of a shape."""
        raise NotImplementedError(f"{type(self).__name__} does not say what shape it gives")

    # ---- names ----
    @property
    def name(self) -> str:
        """Its name, which its variables' names begin with."""
        return self._given_name or (self._scope.name.split("/")[-1] if self._scope is not None else self._base_name)

    @property
    def scope_name(self) -> str:
        """The name of its variable scope."""
        if self._scope is None:
            raise ValueError(f"No name available for layer scope because the layer \"{self._base_name}\" has not been used yet.")
        return self._scope.name

    @property
    def dtype(self) -> str | None:
        """The name of the type of its variables, or None before it is known."""
        return None if self._dtype is None else self._dtype.name

    @property
    def graph(self) -> Graph | None:
        """The graph it was made in."""
        return self._graph

    # ---- variables ----
    @property
    def trainable_variables(self) -> list[Variable]:
        """Its variables that optimizers change."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """Its variables that optimizers leave alone."""
        return list(self._non_trainable_weights) if self.trainable else self._trainable_weights + self._non_trainable_weights

    @property
    def variables(self) -> list[Variable]:
        """All its variables."""
        return self._trainable_weights + self._non_trainable_weights

    @property
    def trainable_weights(self) -> list[Variable]: return self.trainable_variables
    @property
    def non_trainable_weights(self) -> list[Variable]: return self.non_trainable_variables
    @property
    def weights(self) -> list[Variable]: return self.variables
    @property
    def losses(self) -> list[Tensor]: return list(self._losses)
    @property
    def updates(self) -> list[Any]: return list(self._updates)

    @property
    def dynamic(self) -> bool: return False
    @property
    def metrics(self) -> list[Any]: return []

    # ---- places in a Keras model: TensorFlow 1.15 keeps none of layers that are called with a graph's tensors ----
    @property
    def inbound_nodes(self) -> list[Any]: return []
    @property
    def outbound_nodes(self) -> list[Any]: return []

    @property
    def input(self) -> None:
        raise AttributeError(f"Layer {self.name} is not connected, no input to return.")

    input_mask = input

    @property
    def output(self) -> None:
        raise AttributeError(f"Layer {self.name} has no inbound nodes.")

    output_mask = output

    @property
    def input_shape(self) -> None:
        raise AttributeError("The layer has never been called and thus has no defined input shape.")

    @property
    def output_shape(self) -> None:
        raise AttributeError("The layer has never been called and thus has no defined output shape.")

    get_input_at = get_input_mask_at = _at_no_node("input")
    get_output_at = get_output_mask_at = _at_no_node("output")
    get_input_shape_at, get_output_shape_at = _at_no_node("input shape"), _at_no_node("output shape")

    def count_params(self) -> int:
        """How many numbers its variables hold."""
        return sum(v.shape.num_elements() for v in self.variables)

    def add_weight(self, name: str, shape: ShapeLike, dtype: DTypeLike | None = None, initializer: Initializer | None = None,
                   regularizer: Regularizer | None = None, trainable: bool | None = None, constraint: Constraint | None = None,
                   use_resource: bool | None = None, synchronization: VariableSynchronization | None = None,
                   aggregation: VariableAggregation | None = None, partitioner: Partitioner | None = None,
                   **kwargs: object) -> Any:
        """A variable under the layer's scope."""
        dtype = dtypes.as_dtype(dtype or self._dtype or dtypes.float32).base_dtype
        trainable = (True if trainable is None else trainable) and self.trainable
        known = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        modes = dict(synchronization=synchronization, aggregation=aggregation)
        kwargs.update({mode: value for mode, value in modes.items() if value is not None})
        made = get_variable(name, as_shape(shape).as_list(), dtype, initializer, _no_regularizer, trainable,
                            constraint=constraint, use_resource=use_resource, partitioner=partitioner, **kwargs)
        regularizer = get_variable_scope().regularizer if regularizer is None else regularizer
        if regularizer is not None and not any(made is v for v in known):  # of variables used again it is there already
            with graph.name_scope(name + "/Regularizer"):
                loss = regularizer(made)
            if loss is not None:
                self.add_loss(loss)
        (self._trainable_weights if trainable else self._non_trainable_weights).append(made)
        return made

    add_variable = add_weight

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses to the layer's and to REGULARIZATION_LOSSES."""
        for loss in nest.flatten(losses):
            self._losses.append(loss)
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: TensorLike, inputs: Any = None) -> None:
        """Adds updates to the layer's and to UPDATE_OPS."""
        for update in nest.flatten(updates):
            self._updates.append(update)
            graph.add_to_collection(GraphKeys.UPDATE_OPS, update)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        return self.losses

    def get_updates_for(self, inputs: Any) -> list[Any]:
        return self.updates

    def get_weights(self) -> list[Array]:
        """The values of its variables in the default session."""
        return get_default_session().run(self.variables)

    def set_weights(self, weights: Sequence[ArrayLike]) -> None:
        """Sets its variables in the default session."""
        for variable, value in zip(self.variables, weights):
            variable.load(value, get_default_session())

    # ---- calls ----
    def _set_scope(self, scope=None):
        if self._scope is None:
            if self._reuse:
                context = variable_scope(scope if scope is not None else self._base_name)
            else:
                context = variable_scope(scope, default_name=self._base_name)
            with context as captured:
                self._scope = captured

    def __call__(self, inputs: Any, *args: object, **kwargs: object) -> Any:
        self._set_scope(kwargs.pop("scope", None))
        tensors = [x if hasattr(x, "dense_shape") else convert_to_tensor(x) for x in nest.flatten(inputs)]
        inputs = nest.pack_sequence_as(inputs, tensors)
        self._graph = graph.get_default_graph()
        if self._dtype is None and tensors:
            self._dtype = tensors[0].dtype.base_dtype
        with variable_scope(self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False) as scope:
            with graph.name_scope(scope.original_name_scope or None):
                self._check(tensors)
                if not self.built:
                    shapes = [x.get_shape() for x in tensors]
                    self.build(shapes[0] if len(shapes) == 1 else nest.pack_sequence_as(inputs, shapes))
                    self.built = True
                    self._check(tensors)
                outputs = conversion.traced(self.call, asked_for=False)(inputs, *args, **kwargs)
                if self.activity_regularizer is not None:
                    for output in nest.flatten(outputs):
                        self.add_loss(self.activity_regularizer(output))
        return outputs

    def _check(self, tensors):
        specs = self.input_spec if isinstance(self.input_spec, (list, tuple)) else [self.input_spec]
        for spec, x in zip(specs, tensors):
            if spec is not None:
                spec.check(self, x)

    def apply(self, inputs: Sequence[Any], *args: object, **kwargs: object) -> Any:
        """What the layer gives for these inputs: the same as calling it."""
        return self(inputs, *args, **kwargs)

    def __deepcopy__(self, memo):
        import copy
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for key, value in self.__dict__.items():
            shared = key in ("_graph", "_scope") or key.endswith("weights")
            setattr(made, key, value if shared else copy.deepcopy(value, memo))
        return made


def with_defaults(function: F, **defaults: object) -> F:
    """The function with other defaults of some of its arguments."""
    names = inspect.getfullargspec(function).args
    values = list(function.__defaults__)
    for name, value in defaults.items():
        values[names.index(name) - len(names)] = value
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__, tuple(values), function.__closure__)
    made.__doc__, made.__kwdefaults__, made.__qualname__ = function.__doc__, function.__kwdefaults__, function.__qualname__
    made.__annotations__ = function.__annotations__
    return made


def channels_of(layer: Layer, input_shape: Any, data_format: str = "channels_last") -> int:
    """The size of the dimension of channels, which must be known."""
    shape = TensorShape(input_shape)
    size = shape._size(-1 if data_format == "channels_last" else 1) if shape.ndims else None
    if size is None:
        raise ValueError(f"The channel dimension of the inputs to `{type(layer).__name__}` should be defined. Found `None`.")
    return size


ZEROS, ONES = init_ops.zeros_initializer(), init_ops.ones_initializer()
