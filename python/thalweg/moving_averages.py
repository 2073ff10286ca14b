# SPDX-License-Identifier: Apache-2.0
"""Moving averages of values in variables: tensorflow.python.training.moving_averages."""
from thalweg import graph, math_ops, variables
from thalweg.ops import apply, convert_to_tensor
from thalweg.train import ExponentialMovingAverage  # noqa: F401: TensorFlow has it here too


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
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
    from thalweg import init_ops, variable_scopes
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


def weighted_moving_average(value, decay, weight, truediv=True, collections=None, name=None):
    """The moving average of value * weight over that of weight."""
    from thalweg import init_ops, variable_scopes
    collections = collections or [graph.GraphKeys.GLOBAL_VARIABLES]
    with variable_scopes.variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        value = convert_to_tensor(value, name="value")
        parts = []
        for part, numbers, named in (("value_x_weight", value * weight, value), ("weight", weight, convert_to_tensor(weight))):
            sums = variable_scopes.get_variable(part, shape=named.shape, dtype=named.dtype.base_dtype, trainable=False,
                                                initializer=init_ops.zeros_initializer(), collections=collections)
            parts.append(assign_moving_average(sums, numbers, decay, zero_debias=False))
        return (math_ops.truediv if truediv else math_ops.div)(parts[0], parts[1], name=scope.name)
