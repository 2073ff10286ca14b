# SPDX-License-Identifier: Apache-2.0
"""The base of tf.keras optimizers: hyperparameters that are variables, slots, gradients that are clipped and applied."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import thalweg
from thalweg import dtypes
from thalweg.control import replicas
from thalweg.graph.tensor import IndexedSlices
from thalweg.keras import graph_backend, initializers, schedules
from thalweg.keras.schedules import LearningRateSchedule
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self

    from thalweg.base.typing import Array, ArrayLike, DTypeLike, TensorLike
    from thalweg.graph.tensor import Operation, Tensor


def _whole(variable):
    """The variable that a part of one is of, under a distribution strategy."""
    return getattr(variable, "_whole", variable)


class Optimizer:
    """Base of optimizers. A kind says which slots its variables have and how they are updated: `_create_slots`,
    `_resource_apply_dense` and `_resource_apply_sparse`."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.__dict__.update(_hyper={}, _made={}, _added={}, _slots={}, _weights=[], _shared={}, _name=name, _iterations=None,
                             _use_locking=True)  # which kinds of programs pass on to assignments
        for key, value in kwargs.items():
            if key not in ("clipnorm", "clipvalue", "lr", "decay"):
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if not isinstance(value, LearningRateSchedule) and value is not None and value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self.clipnorm, self.clipvalue = kwargs.pop("clipnorm", None), kwargs.pop("clipvalue", None)
        self._initial_decay = kwargs.pop("decay", 0.0)

    # ---- hyperparameters ----
    def _set_hyper(self, name, value):
        if name in self._made and not callable(value):
            graph_backend.set_value(self._made[name], value)
        else:
            self._hyper[name] = value

    def _get_hyper(self, name, dtype=None):
        value = self._hyper[name]
        if not isinstance(value, LearningRateSchedule):
            if callable(value):
                value = value()
            elif not isinstance(value, (thalweg.Tensor, Variable)):
                if name not in self._made:
                    self._made[name] = self._new_variable(name, np.float32(value))
                value = self._made[name]
            return value if dtype is None else thalweg.cast(value, dtype)
        return value

    def __getattr__(self, name):
        hyper = self.__dict__.get("_hyper", {})
        name = "learning_rate" if name == "lr" else name
        if name in hyper:
            return self._get_hyper(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name, value):
        name = "learning_rate" if name == "lr" else name
        if name in self.__dict__.get("_hyper", {}):
            self._set_hyper(name, value)
        else:
            object.__setattr__(self, name, value)

    def _serialize_hyperparameter(self, name):
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return {"class_name": type(value).__name__, "config": value.get_config()}
        return float(graph_backend.batch_get_value([self._made[name]])[0]) if name in self._made else value() if callable(value) else value

    def _decayed_lr(self, var_dtype: DTypeLike) -> Tensor:
        """The learning rate of this step."""
        rate = self._get_hyper("learning_rate")
        if isinstance(rate, LearningRateSchedule):
            return thalweg.cast(rate(thalweg.cast(self.iterations, var_dtype)), var_dtype)
        rate = thalweg.cast(rate, var_dtype)
        if self._initial_decay > 0.0:
            rate = rate / (1.0 + thalweg.cast(self._get_hyper("decay"), var_dtype) * thalweg.cast(self.iterations, var_dtype))
        return rate

    # ---- variables ----
    def _new_variable(self, name, value, dtype=None):
        with thalweg.init_scope():
            return Variable(value, dtype=dtype, name=name, trainable=False, use_resource=True)

    @property
    def iterations(self) -> Variable:
        """How many steps were made."""
        if self._iterations is None:
            self._iterations = self._new_variable("iter", 0, dtypes.int64)
            self._weights.insert(0, self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Variable) -> None:
        if self._iterations is not None:
            raise RuntimeError("Cannot set `iterations` to a new Variable after the Optimizer weights have been created")
        self._iterations = variable
        self._weights.insert(0, variable)

    def add_slot(self, var: Variable, slot_name: str, initializer: object = "zeros") -> Variable:
        """A variable of the optimizer beside one of the model."""
        slots = self._slots.setdefault(_whole(var), {})
        if slot_name not in slots:
            first = initializers.made(initializer)
            slots[slot_name] = self._new_variable(f"{var.op.name}/{slot_name}",
                                                  lambda: first(var.shape, dtype=var.dtype.base_dtype), var.dtype.base_dtype)
            self._weights.append(slots[slot_name])
        return slots[slot_name]

    def get_slot(self, var: Variable, slot_name: str) -> Variable:
        """What add_slot made."""
        return self._slots[_whole(var)][slot_name]

    def get_slot_names(self) -> list[str]:
        """The names of the slots that were made."""
        return list(dict.fromkeys(name for made in self._slots.values() for name in made))

    def add_weight(self, name: str, shape: object = (), dtype: DTypeLike | None = None, initializer: object = "zeros",
                   trainable: bool = False) -> Variable:
        """A variable of the optimizer of its own."""
        first = initializers.made(initializer)
        dtype = dtypes.as_dtype(dtype or "float32")
        self._weights.append(self._new_variable(name, lambda: first(shape, dtype=dtype), dtype))
        self._added[name] = self._weights[-1]
        return self._weights[-1]

    @property
    def weights(self) -> list[Variable]:
        """The number of steps and the slots."""
        return self._weights

    def variables(self) -> list[Variable]:
        """The number of steps and the slots."""
        return self._weights

    def get_weights(self) -> list[Array]:
        """The values of `weights`."""
        return graph_backend.batch_get_value(self._weights)

    def set_weights(self, weights: Sequence[ArrayLike]) -> None:
        """Sets the values of `weights`."""
        if len(weights) != len(self._weights):
            raise ValueError(f"You called `set_weights(weights)` on optimizer {self._name} with a weight list of length {len(weights)}, but "
                             f"the optimizer was expecting {len(self._weights)} weights.")
        for variable, value in zip(self._weights, weights):
            if tuple(variable.shape.as_list()) != np.shape(value):
                raise ValueError(f"Optimizer weight shape {variable.shape} not compatible with provided weight shape {np.shape(value)}")
        graph_backend.batch_set_value(zip(self._weights, weights))

    # ---- checkpoints (training/object_checkpoints.py) ----
    def _checkpoint_parts(self):
        return {**({} if self._iterations is None else {"iter": self._iterations}), **self._added, **self._made}

    def _checkpoint_slots(self):
        return [(name, variable, value) for variable, made in self._slots.items() for name, value in made.items()]

    def _make_checkpoint_slots(self, variables):
        _ = self.iterations
        for hyper in self._hyper:
            self._get_hyper(hyper)
        if variables:
            self._create_slots(variables)

    # ---- gradients ----
    def _clipped(self, gradients):
        if self.clipnorm is not None:
            gradients = [None if g is None else thalweg.clip_by_norm(g, self.clipnorm) for g in gradients]
        if self.clipvalue is not None:
            gradients = [None if g is None else thalweg.clip_by_value(g, -self.clipvalue, self.clipvalue) for g in gradients]
        return gradients

    def get_gradients(self, loss: Tensor, params: Sequence[Variable]) -> list[Tensor | IndexedSlices]:
        """Gradients of the loss, clipped."""
        gradients = thalweg.gradients(loss, params)
        for gradient, param in zip(gradients, params):
            if gradient is None:
                raise ValueError(f"An operation has `None` for gradient: the loss does not depend on {param.name}, or through operations "
                                 "that have none, as argmax and round")
        return self._clipped(gradients)

    def get_updates(self, loss: Tensor, params: Sequence[Variable]) -> list[Operation]:
        """What a step of training does."""
        return [self.apply_gradients(zip(self.get_gradients(loss, params), params))]

    def minimize(self, loss: Callable[[], Tensor] | Tensor, var_list: Sequence[Variable] | Callable[[], Sequence[Variable]],
                 grad_loss: TensorLike | None = None, name: str | None = None) -> Operation:
        """A step that makes a loss less: a tensor, or a function that gives it."""
        loss = loss() if callable(loss) else loss
        var_list = list(var_list() if callable(var_list) else var_list)
        gradients = thalweg.gradients(loss, var_list, grad_ys=grad_loss)
        return self.apply_gradients(zip(self._clipped(gradients), var_list), name=name)

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Operation:
        """A step of these gradients, which counts."""
        pairs = list(grads_and_vars)
        given = [(g, v) for g, v in pairs if g is not None]
        if pairs and not given:
            raise ValueError(f"No gradients provided for any variable: {[v.name for _, v in pairs]}.")
        replica = replicas.of_a_replica()
        if replica is not None:
            return replica.merge_call(self._apply_over_replicas, args=(*zip(*given), name))
        if replicas.here() is not None:
            raise RuntimeError("Under a distribution strategy gradients are applied in a replica, in a function of experimental_run_v2, so that "
                               "all parts of a variable change alike")
        return self._applied(given, self._update, name)

    def _apply_over_replicas(self, strategy, gradients, variables, name):
        """A step of the sums of the gradients of all replicas, for each part of each variable."""
        reduced = strategy.extended.batch_reduce_to("SUM", list(zip(gradients, variables)))

        def update(gradient, variable):
            return strategy.extended.update(variable, lambda part, given: self._update(given, part), args=(gradient,))
        return self._applied(list(zip(reduced, variables)), update, name)

    def _applied(self, given, update, name):
        _ = self.iterations
        with thalweg.init_scope():
            for hyper in self._hyper:
                self._get_hyper(hyper)
            self._create_slots([v for _, v in given])
        with thalweg.name_scope(name or self._name):
            self._shared.clear()
            self._prepare([v for _, v in given])
            updates = [update(gradient, variable) for gradient, variable in given]
            with thalweg.control_dependencies(updates):
                return self.iterations.assign_add(1, read_value=False)

    def _update(self, gradient, variable):
        if isinstance(gradient, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return self._resource_apply_sparse_duplicate_indices(gradient.values, variable, gradient.indices)
        update = self._resource_apply_dense(gradient, variable)
        if variable.constraint is None:
            return update
        with thalweg.control_dependencies([update]):
            return variable.assign(variable.constraint(variable.read_value())).op

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        """Rows that stand twice are summed first."""
        rows, places = thalweg.unique(indices)
        return self._resource_apply_sparse(thalweg.unsorted_segment_sum(grad, places, thalweg.shape(rows)[0]), handle, rows)

    # ---- what a kind of optimizer defines ----
    def _create_slots(self, var_list):
        pass

    def _prepare(self, var_list):
        pass

    def _resource_apply_dense(self, grad, handle):
        raise NotImplementedError(f"{type(self).__name__} must override _resource_apply_dense")

    def _resource_apply_sparse(self, grad, handle, indices):
        return self._resource_apply_dense(thalweg.convert_to_tensor(IndexedSlices(grad, indices, thalweg.shape(handle))), handle)

    def _resource_scatter_add(self, x, i, v):
        """The variable x, after values were added to some of its rows."""
        with thalweg.control_dependencies([thalweg.raw_ops.ResourceScatterAdd(resource=x.handle, indices=i, updates=v)]):
            return x.value()

    def _resource_scatter_update(self, x, i, v):
        """The variable x, after some of its rows were set."""
        with thalweg.control_dependencies([thalweg.raw_ops.ResourceScatterUpdate(resource=x.handle, indices=i, updates=v)]):
            return x.value()

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such an optimizer."""
        clips = {name: getattr(self, name) for name in ("clipnorm", "clipvalue") if getattr(self, name) is not None}
        return {"name": self._name, **clips}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, object] | None = None) -> Self:
        """An optimizer of what get_config gave."""
        config = dict(config)
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = schedules.deserialize(config["learning_rate"], custom_objects)
        return cls(**config)


OptimizerV2 = Optimizer  # its name inside of TensorFlow
