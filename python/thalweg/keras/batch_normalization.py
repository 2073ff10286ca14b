# SPDX-License-Identifier: Apache-2.0
"""BatchNormalization as 1.15 has it: which variance it keeps, what its averages are under a distribution strategy, its configurations."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import thalweg
from thalweg.control import replicas
from thalweg.keras import graph_backend, inner_updates, over_replicas
from thalweg.variables.variables import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from types import ModuleType


def _average(layer, backend, variable, moment):
    """What moves an average to a moment; several of a layer that is called again move it in the order of the calls."""
    def made():
        return backend.moving_average_update(variable, moment, layer.momentum)
    if replicas.of_a_replica() is None:
        return graph_backend.update_in_turn(variable, made)
    before = inner_updates.of_layer(layer)  # of the same replica, for the same model
    with thalweg.control_dependencies(before):
        return made()


def change_layer(module: ModuleType) -> None:
    """Changes BatchNormalization of the package's layers.normalization."""
    before, build_layer, backend = module.BatchNormalization.__init__, module.BatchNormalization.build, module.K
    kept = {"synchronization": VariableSynchronization.ON_READ, "aggregation": VariableAggregation.MEAN}

    @functools.wraps(before)
    def __init__(self, *args, **kwargs):  # configurations that 1.15 wrote have a list of one axis
        axis = kwargs.get("axis")
        if isinstance(axis, (list, tuple)):
            if len(axis) != 1:
                raise NotImplementedError(f"BatchNormalization over several axes, {list(axis)}, is not implemented in Thalweg")
            kwargs["axis"] = axis[0]
        before(self, *args, **kwargs)

    def build(self, input_shape):
        """What is kept of batches is each replica's own, and the mean of all where it is read."""
        add_weight = self.add_weight
        self.add_weight = lambda *args, **kwargs: add_weight(*args, **kwargs, **({} if kwargs.get("trainable", True) else kept))
        try:
            build_layer(self, input_shape)
        finally:
            del self.add_weight

    def call(self, inputs, training=None):
        """The variance that is kept is that of the batch, as the operation gives it; a replica without rows in a batch keeps what it has."""
        rank = len(backend.int_shape(inputs))
        axes = [axis for axis in range(rank) if axis != self.axis % rank]
        shape = None if axes == list(range(rank - 1)) else [-1 if axis == self.axis % rank else 1 for axis in range(rank)]

        def at_rest():
            values = (self.moving_mean, self.moving_variance, self.beta, self.gamma)
            shaped = [v if v is None or shape is None else backend.reshape(v, shape) for v in values]
            return backend.batch_normalization(inputs, *shaped, axis=self.axis, epsilon=self.epsilon)
        if isinstance(training, (bool, int)) and not training:
            return at_rest()
        own, scales = (self.moving_mean, self.moving_variance), (self.gamma, self.beta)
        lacks_rows = thalweg.equal(thalweg.shape(inputs)[0], 0) if over_replicas.may_lack_rows() else None
        if lacks_rows is not None:  # the moments of no rows are no numbers, and so are gradients by them
            scales = [v if v is None else thalweg.where(lacks_rows, thalweg.stop_gradient(v), v) for v in scales]
        normed, *moments = backend.normalize_batch_in_training(inputs, *scales, axes, epsilon=self.epsilon)
        if lacks_rows is not None:
            moments = [thalweg.where(lacks_rows, thalweg.identity(v), moment) for moment, v in zip(moments, own)]
        self.add_update([_average(self, backend, v, moment) for v, moment in zip(own, moments)], inputs)
        return backend.in_train_phase(normed, at_rest, training=training)

    for changed in (__init__, build, call):
        setattr(module.BatchNormalization, changed.__name__, changed)
