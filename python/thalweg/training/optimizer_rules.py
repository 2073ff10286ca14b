# SPDX-License-Identifier: Apache-2.0
"""The rules of the usual optimizers, step by step: for subclasses in Python that leave some of the steps as they are.

Tensors and parameters have TensorFlow's private names (`_lr_t`, `_beta1` ...), which such subclasses use.
"""
from thalweg.graph import graph, ops
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.variables import variables


class _Rule:
    """parameters: constructor's name -> attribute; slots: slot -> its first value (None: zeros); update: the operation's name
    after Apply, and the order of its inputs, slots before parameters."""

    def __init__(self, update, parameters, slots=(), order=(), gradient_at=None):
        self.update, self.parameters, self.slots = update, parameters, dict(slots)
        self.order, self.gradient_at = order, gradient_at


_PENALTIES = {"learning_rate": "_learning_rate", "l1_regularization_strength": "_l1_regularization_strength",
              "l2_regularization_strength": "_l2_regularization_strength"}
_FTRL = {**_PENALTIES, "learning_rate_power": "_learning_rate_power", "initial_accumulator_value": "_initial_accumulator_value"}
_RULES = {
    "GradientDescent": _Rule("GradientDescent", {"learning_rate": "_learning_rate"}, order=["learning_rate"]),
    "Momentum": _Rule("Momentum", {"learning_rate": "_learning_rate", "momentum": "_momentum"}, {"momentum": None},
                      ["learning_rate", "momentum"], gradient_at=1),
    "Adagrad": _Rule("Adagrad", {"learning_rate": "_learning_rate", "initial_accumulator_value": "_initial_accumulator_value"},
                     {"accumulator": "_initial_accumulator_value"}, ["learning_rate"]),
    "Adadelta": _Rule("Adadelta", {"learning_rate": "_lr", "rho": "_rho", "epsilon": "_epsilon"},
                      {"accum": None, "accum_update": None}, ["learning_rate", "rho", "epsilon"]),
    "RMSProp": _Rule("RMSProp", {"learning_rate": "_learning_rate", "decay": "_decay", "momentum": "_momentum",
                                 "epsilon": "_epsilon"}, {"rms": 1.0, "momentum": None},
                     ["learning_rate", "decay", "momentum", "epsilon"]),
    "CenteredRMSProp": _Rule("CenteredRMSProp", {"learning_rate": "_learning_rate", "decay": "_decay", "momentum": "_momentum",
                                                 "epsilon": "_epsilon"}, {"mg": None, "rms": 1.0, "momentum": None},
                             ["learning_rate", "decay", "momentum", "epsilon"]),
    "Ftrl": _Rule("Ftrl", _FTRL, {"accum": "_initial_accumulator_value", "linear": None},
                  ["learning_rate", "l1_regularization_strength", "l2_regularization_strength", "learning_rate_power"],
                  gradient_at=0),
    "FtrlV2": _Rule("FtrlV2", {**_FTRL, "l2_shrinkage_regularization_strength": "_l2_shrinkage_regularization_strength"},
                    {"accum": "_initial_accumulator_value", "linear": None},
                    ["learning_rate", "l1_regularization_strength", "l2_regularization_strength",
                     "l2_shrinkage_regularization_strength", "learning_rate_power"], gradient_at=0),
    "ProximalGradientDescent": _Rule("ProximalGradientDescent", _PENALTIES, (),
                                     ["learning_rate", "l1_regularization_strength", "l2_regularization_strength"]),
    "ProximalAdagrad": _Rule("ProximalAdagrad", {**_PENALTIES, "initial_accumulator_value": "_initial_accumulator_value"},
                             {"accumulator": "_initial_accumulator_value"},
                             ["learning_rate", "l1_regularization_strength", "l2_regularization_strength"]),
    "Adam": _Rule("Adam", {"learning_rate": "_lr", "beta1": "_beta1", "beta2": "_beta2", "epsilon": "_epsilon"},
                  {"m": None, "v": None}, ["learning_rate", "beta1", "beta2", "epsilon"]),
}
# What TensorFlow calls the tensor of a parameter.
_TENSORS = {"_learning_rate": "_learning_rate_tensor", "_decay": "_decay_tensor", "_momentum": "_momentum_tensor", "_lr": "_lr_t",
            "_beta1": "_beta1_t", "_beta2": "_beta2_t", "_epsilon": "_epsilon_t", "_rho": "_rho_t",
            **{p: p + "_tensor" for p in ("_l1_regularization_strength", "_l2_regularization_strength", "_learning_rate_power",
                                               "_l2_shrinkage_regularization_strength")}}


class Rules:
    """Steps of Optimizer for the kinds above."""

    def _rule(self, step):
        rule = _RULES.get(self._kind)
        if rule is None:
            raise NotImplementedError(f"{type(self).__name__} has no {step}" if self._kind is None else
                                      f"a subclass of the optimizer {self._kind} with steps of its own")
        return rule

    def _set_rule_parameters(self):
        rule = _RULES.get(self._kind)
        for name, attribute in rule.parameters.items() if rule else ():
            setattr(self, attribute, self._parameters.get(name))
        if self._kind == "Momentum":
            self._use_nesterov = self._nesterov

    def _create_rule_slots(self, var_list):
        rule = _RULES.get(self._kind)
        if rule is None:
            return
        if self._kind == "Adam":
            first = min(var_list, key=lambda v: v.name)
            self._create_non_slot_variable(initial_value=self._beta1, name="beta1_power", colocate_with=first)
            self._create_non_slot_variable(initial_value=self._beta2, name="beta2_power", colocate_with=first)
        for v in var_list:
            for slot, value in rule.slots.items():
                if value is None:
                    self._zeros_slot(v, slot, self._name)
                    continue
                value = getattr(self, value) if isinstance(value, str) else value
                first = array_ops.fill(v.shape.as_list(), math_ops.cast(value, v.dtype.base_dtype))
                self._get_or_make_slot(v, first, slot, self._name)

    def _prepare_rule(self):
        rule = _RULES.get(self._kind)
        for attribute in rule.parameters.values() if rule else ():
            if attribute in _TENSORS:
                value = self._call_if_callable(getattr(self, attribute))
                setattr(self, _TENSORS[attribute], convert_to_tensor(value, name=attribute.strip("_")))

    def _rule_inputs(self, rule, var):
        """(slots, tensors of the parameters in the variable's type)."""
        tensors = [math_ops.cast(getattr(self, _TENSORS[rule.parameters[p]]), var.dtype.base_dtype) for p in rule.order]
        slots = [self.get_slot(var, s) for s in rule.slots]
        if self._kind == "Adam":
            tensors[:0] = [math_ops.cast(p, var.dtype.base_dtype) for p in self._get_beta_accumulators()]
        return slots, tensors

    def _apply_rule(self, grad, var, step):
        rule = self._rule(step)
        slots, tensors = self._rule_inputs(rule, var)
        tensors.insert(len(tensors) if rule.gradient_at is None else rule.gradient_at, grad)
        return self._run_rule("Apply" + rule.update, var, slots, tensors)

    def _run_rule(self, name, var, slots, tensors):
        attrs = {"use_locking": self._use_locking}
        if self._kind == "Momentum" or name == "ApplyAdam":
            attrs["use_nesterov"] = self._nesterov
        if getattr(var, "_resource", False):
            return apply("Resource" + name, [var, *slots, *tensors], attrs)
        return apply(name, [var, *slots, *tensors], attrs).op

    def _apply_sparse_rule(self, grad, var, indices, step):
        rule = self._rule(step)
        if self._kind == "GradientDescent":
            rate = math_ops.cast(self._learning_rate_tensor, var.dtype.base_dtype)
            return variables.scatter("Sub", var, indices, grad * rate, self._use_locking).op
        if self._kind == "Adam":
            return self._apply_sparse_shared(grad, var, indices, lambda x, i, v: variables.scatter("Add", x, i, v,
                                                                                                  self._use_locking))
        slots, tensors = self._rule_inputs(rule, var)
        at = len(tensors) if rule.gradient_at is None else rule.gradient_at
        tensors[at:at] = [grad, indices]
        return self._run_rule("SparseApply" + rule.update, var, slots, tensors)

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
        with graph.control_dependencies(update_ops), graph.colocate_with(power1.op):
            powers = [power1.assign(power1 * self._beta1_t, use_locking=self._use_locking),
                      power2.assign(power2 * self._beta2_t, use_locking=self._use_locking)]
        return ops.group(*update_ops, *powers, name=name_scope)
