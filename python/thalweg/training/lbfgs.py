# SPDX-License-Identifier: Apache-2.0
"""L-BFGS: minimizes a smooth function of many numbers by its gradients, with a memory of a few steps (Nocedal, Wright:
Numerical Optimization, algorithms 3.5, 3.6 and 7.5). No more than numpy is needed.

    result = minimize(lambda x: (value, gradient), x0)
    result.x, result.value, result.iterations, result.converged, result.message
"""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.base.typing import Array, ArrayLike

Result = collections.namedtuple("Result", "x value gradient iterations evaluations converged message")
_SUFFICIENT, _CURVATURE = 1e-4, 0.9  # the constants of the Wolfe conditions
_MOST_TRIALS = 25  # of steps along a direction


def _two_loops(gradient, pairs):
    """The gradient times the approximated inverse of the Hessian."""
    q, alphas = gradient.copy(), []
    for s, y, rho in reversed(pairs):
        alphas.append(rho * s.dot(q))
        q -= alphas[-1] * y
    if pairs:
        s, y, _ = pairs[-1]
        q *= s.dot(y) / y.dot(y)
    for (s, y, rho), alpha in zip(pairs, reversed(alphas)):
        q += (alpha - rho * y.dot(q)) * s
    return q


def _between(low, high):
    """The minimum of the cubic through two points (step, value, slope); the middle where it lies at a border."""
    (a, fa, ga), (b, fb, gb) = low, high
    d1 = ga + gb - 3 * (fa - fb) / (a - b)
    square = d1 * d1 - ga * gb
    middle = (a + b) / 2
    if not square >= 0:
        return middle
    d2 = np.copysign(np.sqrt(square), b - a)
    bottom = gb - ga + 2 * d2
    step = b - (b - a) * (gb + d2 - d1) / bottom if bottom != 0 else middle
    margin = 0.1 * abs(b - a)
    return step if min(a, b) + margin <= step <= max(a, b) - margin else middle


class _Line:
    """The function along a direction."""

    def __init__(self, function, x, direction):
        self._function, self._x, self._direction = function, x, direction
        self.evaluations = 0

    def at(self, step):
        """(step, value, slope), and the point with its gradient."""
        x = self._x + step * self._direction
        value, gradient = self._function(x)
        self.evaluations += 1
        return (step, value, gradient.dot(self._direction)), (x, value, gradient)


def _search(line, start, first):
    """A point on the line that satisfies the strong Wolfe conditions, or the best one seen; None when none is better."""
    _, value0, slope0 = start
    before, best, step = start, None, first
    low = high = None
    for _ in range(_MOST_TRIALS):
        point, found = line.at(step)
        _, value, slope = point
        if not np.isfinite(value):  # too far
            high, low = (step, np.inf, np.inf), low or before
            step = (low[0] + step) / 2
            continue
        descends = value <= value0 + _SUFFICIENT * step * slope0
        if descends and (best is None or value < best[1]):
            best = found
        if descends and abs(slope) <= -_CURVATURE * slope0:
            return found
        if high is None:
            if not descends or before[0] > 0 and value >= before[1]:
                low, high = before, point
            elif slope >= 0:
                low, high = point, before
            else:
                before, step = point, 2 * step
                continue
        elif not descends or value >= low[1]:
            high = point
        else:
            if slope * (high[0] - low[0]) >= 0:
                high = low
            low = point
        if abs(high[0] - low[0]) <= 1e-12 * max(1.0, abs(low[0])):
            break
        step = _between(low, high) if np.isfinite(high[1]) else (low[0] + high[0]) / 2
    return best


def minimize(function: Callable[[Array], tuple[float, Array]], x0: ArrayLike, memory: int = 10, max_iterations: int = 15000,
             gradient_tolerance: float = 1e-5, value_tolerance: float = 2.220446049250313e-09,
             callback: Callable[[Array], object] | None = None) -> Result:
    """Minimizes function(x) -> (value, gradient) from x0 until the largest part of the gradient, or the relative change of the
    value, is below its tolerance. callback(x) is called after each iteration."""
    x = np.array(x0, dtype=np.float64)
    value, gradient = function(x)
    evaluations, pairs, message, converged = 1, [], f"stopped after {max_iterations} iterations", False
    iteration = 0
    while True:
        if not np.isfinite(value):
            message = f"the value is {value}"
            break
        if np.max(np.abs(gradient), initial=0.0) <= gradient_tolerance:
            message, converged = "the gradient is small", True
            break
        if iteration >= max_iterations:
            break
        direction = -_two_loops(gradient, pairs)
        slope = gradient.dot(direction)
        if not slope < 0:  # what was remembered does not fit here
            pairs, direction = [], -gradient
            slope = -gradient.dot(gradient)
        line = _Line(function, x, direction)
        first = 1.0 if pairs else min(1.0, 1.0 / np.sum(np.abs(gradient)))
        found = _search(line, (0.0, value, slope), first)
        evaluations += line.evaluations
        if found is None:
            if pairs:  # once more, from the gradient alone
                pairs = []
                continue
            message = "no step along the gradient makes the value smaller"
            break
        s, y = found[0] - x, found[2] - gradient
        before = value
        x, value, gradient = found
        iteration += 1
        if s.dot(y) > 1e-10 * y.dot(y):
            pairs = [*pairs[-(memory - 1):], (s, y, 1 / s.dot(y))] if memory > 1 else [(s, y, 1 / s.dot(y))]
        if callback is not None:
            callback(x)
        if before - value <= value_tolerance * max(abs(before), abs(value), 1.0):
            message, converged = "the value changes little", True
            break
    return Result(x, value, gradient, iteration, evaluations, converged, message)
