# SPDX-License-Identifier: Apache-2.0
"""Optimizers whose steps are chosen outside of the graph: they evaluate loss and gradients in a session, again and again, and
leave the variables with the best values.

    optimizer = tw.contrib.opt.ScipyOptimizerInterface(loss, method="L-BFGS-B", options={"maxiter": 100})     needs scipy
    optimizer = tw.train.LBFGSOptimizer(loss, max_iterations=100)                                             needs nothing
    optimizer.minimize(session, feed_dict={x: data})
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import logging as tw_logging
from thalweg.graph.default_session import get_default_session
from thalweg.graph.ops import convert_to_tensor
from thalweg.operations import array_ops, gradient_ops
from thalweg.training import lbfgs
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from thalweg.base.typing import ArrayLike, FeedDict
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable


def _zeros_for_none(tensor, variable_list):
    """The gradients of a tensor as dense ones, zeros where it does not depend on a variable."""
    found = gradient_ops.gradients(tensor, variable_list)
    return [array_ops.zeros_like(convert_to_tensor(v)) if g is None else convert_to_tensor(g)
            for g, v in zip(found, variable_list)]


class ExternalOptimizerInterface:
    """Base: `_minimize` of a subclass calls the functions that it is given, of a vector of all variables."""

    def __init__(self, loss: Tensor, var_list: Sequence[Variable] | None = None, equalities: Sequence[Tensor] | None = None,
                 inequalities: Sequence[Tensor] | None = None,
                 var_to_bounds: Mapping[Variable, tuple[ArrayLike, ArrayLike]] | None = None, **optimizer_kwargs: object) -> None:
        self._loss, self._equalities, self._inequalities = loss, equalities or [], inequalities or []
        self._vars = variables.trainable_variables() if var_list is None else list(var_list)
        if not self._vars:
            raise ValueError("there are no variables to optimize")
        self.optimizer_kwargs = optimizer_kwargs
        with self._vars[0].graph.as_default():
            self._given = [array_ops.placeholder(v.dtype.base_dtype, v.shape) for v in self._vars]
            self._setters = [v.assign(value) for v, value in zip(self._vars, self._given)]
            self._values = [convert_to_tensor(v) for v in self._vars]
            self._loss_grads = _zeros_for_none(loss, self._vars)
            self._equality_grads = [_zeros_for_none(e, self._vars) for e in self._equalities]
            self._inequality_grads = [_zeros_for_none(i, self._vars) for i in self._inequalities]
        sizes = [v.shape.num_elements() for v in self._vars]
        self._ends = np.cumsum(sizes)[:-1]
        self._packed_bounds = self._pack_bounds(var_to_bounds)

    def _pack_bounds(self, var_to_bounds):
        """[(least, largest)] of all elements, or None."""
        if var_to_bounds is None:
            return None
        rows = []
        for v in self._vars:
            least, largest = var_to_bounds.get(v, (-np.inf, np.inf))
            shape = v.shape.as_list()
            rows += zip(np.broadcast_to(least, shape).ravel(), np.broadcast_to(largest, shape).ravel())
        return rows

    @staticmethod
    def _packed(values):
        return np.concatenate([np.ravel(v).astype(np.float64) for v in values])

    def _set(self, session, x, feed_dict):
        """Gives the variables the values of a vector."""
        parts = [part.reshape(v.shape.as_list()) for part, v in zip(np.split(x, self._ends), self._vars)]
        session.run(self._setters, {**feed_dict, **{p: part.astype(p.dtype.as_numpy_dtype)
                                                    for p, part in zip(self._given, parts)}})

    def minimize(self, session: Session | None = None, feed_dict: FeedDict | None = None, fetches: Sequence[Tensor] | None = None,
                 step_callback: Callable[..., object] | None = None, loss_callback: Callable[..., object] | None = None,
                 **run_kwargs: object) -> None:
        """Gives the variables the values that make the loss least. loss_callback(*values of fetches) is called for each
        evaluation, step_callback(vector of all variables) after each step."""
        session, feed_dict, fetches = session or get_default_session(), feed_dict or {}, fetches or []
        if session is None:
            raise ValueError("minimize() needs a session, or a default one")

        def function(tensors, callback=None):
            def evaluate(x):
                self._set(session, np.asarray(x, np.float64), feed_dict)
                found = session.run([*tensors, *fetches], feed_dict, **run_kwargs)
                if callback is not None:
                    callback(*found[len(tensors):])
                return found[:len(tensors)]
            return evaluate

        def values(tensors):
            return [lambda x, f=function([t]): np.asarray(f(x)[0], np.float64) for t in tensors]

        def gradients(rows):
            return [lambda x, f=function(row): self._packed(f(x)) for row in rows]
        both = function([self._loss, *self._loss_grads], loss_callback)

        def loss_and_gradient(x):
            loss, *grads = both(x)
            return float(loss), self._packed(grads)
        best = self._minimize(
            initial_val=self._packed(session.run(self._values, feed_dict)), loss_grad_func=loss_and_gradient,
            equality_funcs=values(self._equalities), equality_grad_funcs=gradients(self._equality_grads),
            inequality_funcs=values(self._inequalities), inequality_grad_funcs=gradients(self._inequality_grads),
            packed_bounds=self._packed_bounds, step_callback=step_callback, optimizer_kwargs=self.optimizer_kwargs)
        self._set(session, np.asarray(best, np.float64), feed_dict)

    def _minimize(self, initial_val, loss_grad_func, equality_funcs, equality_grad_funcs, inequality_funcs,
                  inequality_grad_funcs, packed_bounds, step_callback, optimizer_kwargs):
        """The best vector; a subclass has it."""
        raise NotImplementedError("To use ExternalOptimizerInterface, subclass from it and implement the _minimize() method.")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """By scipy.optimize.minimize, to which method (L-BFGS-B), options, tol and the like go."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(self, initial_val, loss_grad_func, equality_funcs, equality_grad_funcs, inequality_funcs,
                  inequality_grad_funcs, packed_bounds, step_callback, optimizer_kwargs):
        try:
            import scipy.optimize
        except ImportError:
            raise ImportError("tf.contrib.opt.ScipyOptimizerInterface needs scipy, which is not installed (pip install scipy); "
                              "tf.train.LBFGSOptimizer needs nothing besides") from None
        constraints = [{"type": kind, "fun": f, "jac": g} for kind, functions, grads in (
            ("eq", equality_funcs, equality_grad_funcs), ("ineq", inequality_funcs, inequality_grad_funcs))
            for f, g in zip(functions, grads)]
        given = {"jac": True, "callback": step_callback, "method": self._DEFAULT_METHOD, "bounds": packed_bounds,
                 **({"constraints": constraints} if constraints else {}), **optimizer_kwargs}
        for name in ("jac", "fun"):
            if name in optimizer_kwargs:
                raise ValueError(f"Optimizer keyword arg '{name}' is set automatically and cannot be injected manually")
        result = scipy.optimize.minimize(loss_grad_func, initial_val, **given)
        tw_logging.info("Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n  Number of iterations: "
                        "%s\n  Number of functions evaluations: %s", result.message, result.fun, getattr(result, "nit", "?"),
                        getattr(result, "nfev", "?"))
        return result.x


class LBFGSOptimizer(ExternalOptimizerInterface):
    """By L-BFGS, see lbfgs.py. Options: memory=10, max_iterations=15000, gradient_tolerance=1e-5, value_tolerance=2.2e-9.
    `result` tells how the last minimize() ended."""

    result = None

    def _minimize(self, initial_val, loss_grad_func, equality_funcs, equality_grad_funcs, inequality_funcs,
                  inequality_grad_funcs, packed_bounds, step_callback, optimizer_kwargs):
        if equality_funcs or inequality_funcs or packed_bounds is not None:
            raise ValueError("LBFGSOptimizer takes no bounds and no constraints; tf.contrib.opt.ScipyOptimizerInterface does")
        self.result = lbfgs.minimize(loss_grad_func, initial_val, callback=step_callback, **optimizer_kwargs)
        return self.result.x
