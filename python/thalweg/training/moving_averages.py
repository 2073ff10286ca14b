# SPDX-License-Identifier: Apache-2.0
"""Moving averages of values in variables: tensorflow.python.training.moving_averages."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.variables import init_ops, save_slices, variable_scopes, variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from thalweg.base.typing import IntLike, TensorLike
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.variables.variables import Variable


def assign_moving_average(variable: Variable, value: TensorLike, decay: float | Tensor, zero_debias: bool = True,
                          name: str | None = None) -> Tensor:
    """variable -= (variable - value) * (1 - decay); with `zero_debias`, what that would be had the average begun with
    the first value instead of zero. Gives the variable's new value."""
    with graph.name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope, graph.colocate_with(variable.op):
        dtype = variable.dtype.base_dtype
        rest = math_ops.cast(convert_to_tensor(1.0 - decay, name="decay"), dtype)
        value = math_ops.cast(convert_to_tensor(value), dtype)
        if zero_debias:
            change = _unbiased_change(variable, value, rest)
        else:
            change = (variable.value() - value) * rest
        return variables.assign_sub(variable, change, name=scope)


def _unbiased_change(variable, value, rest):
    """What must be taken from the average; two more variables, named under it, hold the sum and the number of values."""
    with variable_scopes.variable_scope(variable.op.name, values=[variable, value, rest]):
        zeros = init_ops.zeros_initializer()
        with graph.control_dependencies(None):
            biased = variable_scopes.get_variable("biased", initializer=zeros, shape=variable.shape, trainable=False,
                                                  dtype=variable.dtype.base_dtype)
            steps = variable_scopes.get_variable("local_step", shape=[], dtype=variable.dtype.base_dtype, initializer=zeros,
                                                 trainable=False)
        biased_now = variables.assign_sub(biased, (biased.value() - value) * rest)
        steps_now = variables.assign_add(steps, 1)
    return variable.value() - biased_now / (1 - apply("Pow", [1 - rest, steps_now]))


def weighted_moving_average(value: TensorLike, decay: float | Tensor, weight: TensorLike, truediv: bool = True,
                            collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """The moving average of value * weight over that of weight."""
    collections = collections or [graph.GraphKeys.GLOBAL_VARIABLES]
    with variable_scopes.variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        value = convert_to_tensor(value, name="value")
        parts = []
        for part, numbers, named in (("value_x_weight", value * weight, value), ("weight", weight, convert_to_tensor(weight))):
            sums = variable_scopes.get_variable(part, shape=named.shape, dtype=named.dtype.base_dtype, trainable=False,
                                                initializer=init_ops.zeros_initializer(), collections=collections)
            parts.append(assign_moving_average(sums, numbers, decay, zero_debias=False))
        return (math_ops.truediv if truediv else math_ops.div)(parts[0], parts[1], name=scope.name)


class ExponentialMovingAverage:
    """Averages of variables in which older values count less: average = decay * average + (1 - decay) * value.

    Parameters
    ----------
    decay : float
        How much of the average stays in each step.
    num_updates : int or Tensor, optional
        How many updates there were: where these are few, the decay is (1 + n) / (10 + n) at most.
    zero_debias : bool
        Of no effect here.
    name : str
        Ends the names of the averages.

    Examples
    --------
    >>> v, average = tw.Variable(0.0), tw.train.ExponentialMovingAverage(0.5)
    >>> update = average.apply([v])
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(v.assign(8.0).op)
    ...     sess.run(update)
    ...     print(sess.run(average.average(v)))
    4.0
    """

    def __init__(self, decay: float, num_updates: IntLike | None = None, zero_debias: bool = False,
                 name: str = "ExponentialMovingAverage") -> None:
        self._decay, self._num_updates, self.name, self._averages = decay, num_updates, name, {}

    def apply(self, var_list: Iterable[Variable | Tensor] | None = None) -> Operation:
        """An operation that updates the averages."""
        var_list = variables.trainable_variables() if var_list is None else var_list
        decay = ops.constant(float(self._decay))
        if self._num_updates is not None:
            count = math_ops.cast(self._num_updates, dtypes.float32)
            decay = apply("Minimum", [decay, (1.0 + count) / (10.0 + count)])
        updates = []
        for v in var_list:
            if not v.dtype.base_dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {v.name}")
            if v not in self._averages:
                with name_scope(None):
                    first = v.initialized_value() if hasattr(v, "initialized_value") else array_ops.zeros(
                        v.shape.as_list(), v.dtype.base_dtype)
                    self._averages[v] = variables.Variable(first, trainable=False, name=f"{v.op.name}/{self.name}")
                save_slices.follow(self._averages[v], v)
                if hasattr(v, "initialized_value"):
                    graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, v)
            average = self._averages[v]
            # A read of its own: what runs before apply() has changed the variable.
            now = v.read_value() if hasattr(v, "read_value") else convert_to_tensor(v)
            difference = average._as_tensor() - now
            updates.append(average.assign_sub(difference * math_ops.cast(1.0 - decay, average._dtype)))
        return ops.group(*updates, name=self.name)

    def average(self, var: Variable | Tensor) -> Variable | None:
        """The variable that is the average of a variable, or None.

        Parameters
        ----------
        var : Variable
            What apply() was given.

        Returns
        -------
        Variable or None
            The average.
        """
        return self._averages.get(var)

    def average_name(self, var: Variable | Tensor) -> str:
        """The name that the average of a variable has in a checkpoint.

        Parameters
        ----------
        var : Variable
            Any variable.

        Returns
        -------
        str
            "v/ExponentialMovingAverage".
        """
        made = self._averages.get(var)
        return f"{var.op.name}/{self.name}" if made is None else made.op.name

    def variables_to_restore(self, moving_avg_variables: Iterable[Variable] | None = None) -> dict[str, Variable]:
        """{name in a checkpoint: variable}: the averages for these variables, and all others by their own names."""
        if moving_avg_variables is None:
            moving_avg_variables = variables.trainable_variables() + variables.moving_average_variables()
        averaged = list(dict.fromkeys(moving_avg_variables))
        named = {self.average_name(v): v for v in averaged}
        for v in variables.global_variables():
            if v not in averaged and v.op.name not in named:
                named[v.op.name] = v
        return named
