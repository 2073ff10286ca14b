# SPDX-License-Identifier: Apache-2.0
"""The rules of the usual optimizers, step by step: for subclasses in Python that leave some of the steps as they are.

What a rule is, stands in the core's table. Tensors and parameters have TensorFlow's private names (`_lr_t`, `_beta1` ...), which
such subclasses use.
"""
from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

from thalweg.control import replicas
from thalweg.graph import graph, ops
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.variables import variables

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from thalweg.variables.variables import Variable


class _Rule:
    """A row of the core's table, with TensorFlow's names for what holds it: attributes the parameters (name -> attribute), tensors
    those of them that the operation takes."""

    def __init__(self, kind, operation, has_nesterov, arguments, slots, defaults):
        self.operation, self.has_nesterov, self.arguments, self.slots = operation, has_nesterov, arguments[1:], slots
        self.defaults = defaults
        short = kind in ("Adam", "Adadelta")
        self.attributes = {name: "_lr" if short and name == "learning_rate" else "_" + name for name in defaults}
        self.tensors = {a: self.attributes[a] + ("_t" if short else "_tensor") for a in arguments if a in defaults}
        self.powers = [a for a in arguments if a.endswith("_power") and a not in defaults]


@functools.cache
def _rules():
    from thalweg import _core
    return {kind: _Rule(kind, *row) for kind, row in _core.optimizer_kinds().items()}


def beside(variable: Variable) -> AbstractContextManager[object]:
    """New operations run where a variable is; each part of a distributed one says itself where that is."""
    return contextlib.nullcontext() if hasattr(variable, "values") else graph.colocate_with(variable.op)


def variables_beside(variable: Variable) -> AbstractContextManager[object]:
    """New variables are where a variable is; under a distribution strategy, which has places for them of its own, the strategy says so."""
    found = replicas.here()
    return graph.colocate_with(variable.op) if found is None else found.strategy.extended.colocate_vars_with(variable)


class Rules:
    """Steps of Optimizer for the kinds above."""

    def _rule(self, step):
        rule = _rules().get(self._kind)
        if rule is None:
            raise NotImplementedError(f"{type(self).__name__} has no {step}" if self._kind is None else
                                      f"a subclass of the optimizer {self._kind} with steps of its own")
        return rule

    def _set_rule_parameters(self):
        rule = _rules().get(self._kind)
        for name, attribute in rule.attributes.items() if rule else ():
            setattr(self, attribute, self._parameters.get(name, rule.defaults[name]))
        if self._kind == "Momentum":
            self._use_nesterov = self._nesterov

    def _create_rule_slots(self, var_list):
        rule = _rules().get(self._kind)
        if rule is None:
            return
        for power in rule.powers:
            beta = getattr(self, rule.attributes[power.removesuffix("_power")])
            self._create_non_slot_variable(initial_value=beta, name=power, colocate_with=min(var_list, key=lambda v: v.name))
        for v in var_list:
            for slot, initial in rule.slots.items():
                if initial == "0":
                    self._zeros_slot(v, slot, self._name)
                    continue
                value = 1.0 if initial == "1" else getattr(self, rule.attributes[initial])
                first = array_ops.fill(v.shape.as_list(), math_ops.cast(value, v.dtype.base_dtype))
                self._get_or_make_slot(v, first, slot, self._name)

    def _prepare_rule(self):
        rule = _rules().get(self._kind)
        for name, tensor in rule.tensors.items() if rule else ():
            attribute = rule.attributes[name]
            value = self._call_if_callable(getattr(self, attribute))
            setattr(self, tensor, convert_to_tensor(value, name=attribute.strip("_")))

    def _rule_inputs(self, rule, var, gradient):
        """The arguments after the variable, numbers in its type; `gradient` is [values], or [values, indices]."""
        powers = dict(zip(rule.powers, self._get_beta_accumulators())) if rule.powers else {}
        for argument in rule.arguments:
            if argument == "grad":
                yield from gradient
            elif argument.endswith("_slot"):
                yield self.get_slot(var, argument.removesuffix("_slot"))
            else:
                number = powers[argument] if argument in powers else getattr(self, rule.tensors[argument])
                yield math_ops.cast(number, var.dtype.base_dtype)

    def _apply_rule(self, grad, var, step):
        return self._run_rule(self._rule(step), "Apply", var, [grad])

    def _run_rule(self, rule, form, var, gradient):
        attrs = {"use_locking": self._use_locking}
        if rule.has_nesterov:
            attrs["use_nesterov"] = self._nesterov
        name, inputs = form + rule.operation, [var, *self._rule_inputs(rule, var, gradient)]
        return apply("Resource" + name, inputs, attrs) if getattr(var, "_resource", False) else apply(name, inputs, attrs).op

    def _apply_sparse_rule(self, grad, var, indices, step):
        rule = self._rule(step)
        if self._kind == "GradientDescent":
            rate = math_ops.cast(self._learning_rate_tensor, var.dtype.base_dtype)
            return getattr(variables.scatter("Sub", var, indices, grad * rate, self._use_locking), "op", None)  # None: it has run
        if self._kind == "Adam":
            return self._apply_sparse_shared(grad, var, indices, lambda x, i, v: variables.scatter("Add", x, i, v,
                                                                                                  self._use_locking))
        return self._run_rule(rule, "SparseApply", var, [grad, indices])

    # ---- Adam ----
    def _get_beta_accumulators(self):
        made = {name: v for (name, _), v in self._non_slot_dict.items()}
        here = graph.get_default_graph()
        return tuple(self._non_slot_dict.get((name, here), made.get(name)) for name in ("beta1_power", "beta2_power"))

    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        """Adam of the rows of a gradient: every row's averages decay, as in TensorFlow."""
        dtype = var.dtype.base_dtype
        power1, power2 = (math_ops.cast(p, dtype) for p in self._get_beta_accumulators())
        rate, beta1, beta2, epsilon = (math_ops.cast(t, dtype) for t in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t))
        rate = rate * apply("Sqrt", [1 - power2]) / (1 - power1)
        averages = []
        for slot, beta, part in (("m", beta1, grad), ("v", beta2, grad * grad)):
            average = self.get_slot(var, slot)
            decayed = variables.assign(average, average * beta, use_locking=self._use_locking)
            with graph.control_dependencies([decayed]):
                averages.append(scatter_add(average, indices, part * (1 - beta)))
        step = rate * averages[0] / (apply("Sqrt", [averages[1]]) + epsilon)
        return ops.group(variables.assign_sub(var, step, use_locking=self._use_locking), *averages)

    def _finish_rule(self, update_ops, name_scope):
        if self._kind != "Adam":
            return ops.group(*update_ops, name=name_scope)
        power1, power2 = self._get_beta_accumulators()
        with graph.control_dependencies(update_ops), beside(power1):
            powers = [power1.assign(power1 * self._beta1_t, use_locking=self._use_locking),
                      power2.assign(power2 * self._beta2_t, use_locking=self._use_locking)]
        return ops.group(*update_ops, *powers, name=name_scope)
