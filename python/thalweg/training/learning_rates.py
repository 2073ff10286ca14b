# SPDX-License-Identifier: Apache-2.0
"""Learning rates that change with the step: tw.train.exponential_decay and its kin."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import math_ops, random_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import IntLike, TensorLike
    from thalweg.graph.tensor import Tensor


def _number(value, kind):
    return math_ops.cast(value, kind) if ops.is_dense(value) else ops.constant(float(value), kind)


def _schedule(default_name, name, learning_rate, global_step, formula):
    """formula(rate, step, number), all of the rate's type; number makes constants of it."""
    if global_step is None:
        raise ValueError(f"global_step is required for {default_name}.")
    with name_scope(name, default_name, [learning_rate, global_step]) as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        kind = rate.dtype.base_dtype
        result = formula(rate, math_ops.cast(global_step, kind), lambda value: _number(value, kind))
        return apply("Identity", [result], name=scope)


def _share(step, number, decay_steps, staircase):
    """step / decay_steps, in whole numbers if asked to."""
    share = step / number(decay_steps)
    return apply("Floor", [share]) if staircase else share


def exponential_decay(learning_rate: TensorLike, global_step: IntLike | None, decay_steps: TensorLike,
                      decay_rate: TensorLike, staircase: bool = False, name: str | None = None) -> Tensor:
    """A rate that falls as learning_rate * decay_rate ** (global_step / decay_steps).

    Parameters
    ----------
    learning_rate : float or Tensor
        The rate at step 0.
    global_step : int or Tensor or Variable
        Counts the steps.
    decay_steps : int or Tensor
        After so many steps the rate was multiplied by `decay_rate`.
    decay_rate : float or Tensor
        What the rate is multiplied by.
    staircase : bool
        Whether the rate falls at whole multiples of `decay_steps` only.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        A scalar of the type of `learning_rate`.

    Raises
    ------
    ValueError
        If `global_step` is None.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.train.exponential_decay(0.5, global_step=200, decay_steps=100, decay_rate=0.5)))
    0.125
    """
    return _schedule("ExponentialDecay", name, learning_rate, global_step, lambda rate, step, number: rate * apply(
        "Pow", [number(decay_rate), _share(step, number, decay_steps, staircase)]))


def inverse_time_decay(learning_rate: TensorLike, global_step: IntLike | None, decay_steps: TensorLike,
                       decay_rate: TensorLike, staircase: bool = False, name: str | None = None) -> Tensor:
    """learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    return _schedule("InverseTimeDecay", name, learning_rate, global_step, lambda rate, step, number: rate / (
        1 + number(decay_rate) * _share(step, number, decay_steps, staircase)))


def natural_exp_decay(learning_rate: TensorLike, global_step: IntLike | None, decay_steps: TensorLike,
                      decay_rate: TensorLike, staircase: bool = False, name: str | None = None) -> Tensor:
    """learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    return _schedule("NaturalExpDecay", name, learning_rate, global_step, lambda rate, step, number: rate * apply(
        "Exp", [-number(decay_rate) * _share(step, number, decay_steps, staircase)]))


def polynomial_decay(learning_rate: TensorLike, global_step: IntLike | None, decay_steps: TensorLike,
                     end_learning_rate: TensorLike = 0.0001, power: TensorLike = 1.0, cycle: bool = False,
                     name: str | None = None) -> Tensor:
    """A rate that falls from `learning_rate` to `end_learning_rate` within `decay_steps`.

    (learning_rate - end_learning_rate) * (1 - step / decay_steps) ** power + end_learning_rate; with `cycle` again and again,
    over longer stretches.

    Parameters
    ----------
    learning_rate : float or Tensor
        The rate at step 0.
    global_step : int or Tensor or Variable
        Counts the steps.
    decay_steps : int or Tensor
        After so many steps the rate is `end_learning_rate`.
    end_learning_rate : float
        The least rate.
    power : float
        1 for a line.
    cycle : bool
        Whether it begins anew behind `decay_steps`.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        A scalar of the type of `learning_rate`.

    Raises
    ------
    ValueError
        If `global_step` is None.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.train.polynomial_decay(1.0, global_step=5, decay_steps=10, end_learning_rate=0.0)))
    0.5
    """
    def formula(rate, step, number):
        total, end = number(decay_steps), number(end_learning_rate)
        if cycle:  # at step 0 the first stretch, not the zeroth
            total = total * apply("Maximum", [number(1), apply("Ceil", [step / total])])
        else:
            step = apply("Minimum", [step, total])
        return (rate - end) * apply("Pow", [1 - step / total, number(power)]) + end
    return _schedule("PolynomialDecay", name, learning_rate, global_step, formula)


def _cosine(number, share):
    return number(0.5) * (1 + apply("Cos", [number(math.pi) * share]))


def _done(step, number, decay_steps):
    """The share of decay_steps that is behind us, 1 at most."""
    return apply("Minimum", [step, number(decay_steps)]) / number(decay_steps)


def cosine_decay(learning_rate: TensorLike, global_step: IntLike | None, decay_steps: TensorLike,
                 alpha: float = 0.0, name: str | None = None) -> Tensor:
    """Half a cosine, from learning_rate to alpha * learning_rate (Loshchilov and Hutter 2016)."""
    return _schedule("CosineDecay", name, learning_rate, global_step, lambda rate, step, number: rate * (
        (1 - alpha) * _cosine(number, _done(step, number, decay_steps)) + alpha))


def cosine_decay_restarts(learning_rate: TensorLike, global_step: IntLike | None, first_decay_steps: TensorLike,
                          t_mul: float = 2.0, m_mul: TensorLike = 1.0, alpha: float = 0.0, name: str | None = None) -> Tensor:
    """cosine_decay that starts again, each time t_mul times as long and from m_mul times the height."""
    def formula(rate, step, number):
        done = step / number(first_decay_steps)
        if t_mul == 1.0:
            restart = apply("Floor", [done])
            left = done - restart
        else:
            restart = apply("Floor", [apply("Log", [1 - done * (1 - number(t_mul))]) / math.log(t_mul)])
            length = apply("Pow", [number(t_mul), restart])
            left = (done - (1 - length) / (1 - number(t_mul))) / length
        height = apply("Pow", [number(m_mul), restart])
        return rate * ((1 - alpha) * height * _cosine(number, left) + alpha)
    return _schedule("SGDRDecay", name, learning_rate, global_step, formula)


def linear_cosine_decay(learning_rate: TensorLike, global_step: IntLike | None, decay_steps: TensorLike,
                        num_periods: float = 0.5, alpha: float = 0.0, beta: float = 0.001, name: str | None = None) -> Tensor:
    """A line to zero under a cosine (Bello and others 2017)."""
    def formula(rate, step, number):
        done = _done(step, number, decay_steps)
        return rate * ((number(alpha) + 1 - done) * _cosine(number, 2 * num_periods * done) + beta)
    return _schedule("LinearCosineDecay", name, learning_rate, global_step, formula)


def noisy_linear_cosine_decay(learning_rate: TensorLike, global_step: IntLike | None, decay_steps: TensorLike,
                              initial_variance: TensorLike = 1.0, variance_decay: TensorLike = 0.55, num_periods: float = 0.5,
                              alpha: float = 0.0, beta: float = 0.001, name: str | None = None) -> Tensor:
    """linear_cosine_decay with noise whose variance falls as 1 / (1 + step) ** variance_decay."""
    def formula(rate, step, number):
        done = _done(step, number, decay_steps)
        capped = apply("Minimum", [step, number(decay_steps)])
        deviation = apply("Sqrt", [number(initial_variance) / apply("Pow", [1 + capped, number(variance_decay)])])
        noise = random_ops.random_normal([], dtype=rate.dtype.base_dtype) * deviation
        return rate * ((number(alpha) + 1 - done + noise) * _cosine(number, 2 * num_periods * done) + beta)
    return _schedule("NoisyLinearCosineDecay", name, learning_rate, global_step, formula)


def piecewise_constant(x: TensorLike, boundaries: Sequence[TensorLike], values: Sequence[TensorLike],
                       name: str | None = None) -> Tensor:
    """values[i] up to boundaries[i], then the last one."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant", [x, *boundaries, *values]):
        x = convert_to_tensor(x)
        result = convert_to_tensor(values[0])
        for boundary, value in zip(boundaries, values[1:]):
            passed = apply("Greater", [x, convert_to_tensor(boundary, dtype=x.dtype.base_dtype)])
            result = apply("Select", [passed, convert_to_tensor(value, dtype=result.dtype.base_dtype), result])
        return result


piecewise_constant_decay = piecewise_constant
