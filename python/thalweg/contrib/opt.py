# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.opt: optimizers in Python over the base and the usual ones."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.graph import graph, ops
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.operations.gradient_ops import clip_by_global_norm
from thalweg.saving.saver import Saver
from thalweg.training.external_optimizer import ExternalOptimizerInterface, ScipyOptimizerInterface  # noqa: F401
from thalweg.training.moving_averages import ExponentialMovingAverage
from thalweg.training.optimizer import Optimizer
from thalweg.training.optimizers import AdamOptimizer, MomentumOptimizer
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from thalweg.base.typing import Gradient, IntLike, TensorLike
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.variables.variables import Variable


class DecoupledWeightDecayExtension:
    """Mixed in before an optimizer: every variable first loses weight_decay of itself (Loshchilov, Hutter: AdamW)."""

    def __init__(self, weight_decay: TensorLike | Callable[[], TensorLike], **kwargs: object) -> None:
        self._decay_var_list = None
        self._weight_decay = weight_decay
        super().__init__(**kwargs)

    def minimize(self, loss: Tensor | Callable[[], Tensor], global_step: Variable | Tensor | None = None,
                 var_list: Variable | Sequence[Variable] | None = None, gate_gradients: int = Optimizer.GATE_OP,
                 aggregation_method: int | None = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
                 grad_loss: Gradient | None = None, decay_var_list: Sequence[Variable] | None = None) -> Operation:
        """As the optimizer's; only the variables of decay_var_list decay where it is given."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else None
        return super().minimize(loss, global_step=global_step, var_list=var_list, gate_gradients=gate_gradients,
                                aggregation_method=aggregation_method, name=name, grad_loss=grad_loss,
                                colocate_gradients_with_ops=colocate_gradients_with_ops)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Gradient | None, Variable]], global_step: Variable | Tensor | None = None,
                        name: str | None = None, decay_var_list: Sequence[Variable] | None = None) -> Operation:
        if decay_var_list:
            self._decay_var_list = set(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self):
        self._weight_decay_tensor = convert_to_tensor(self._call_if_callable(self._weight_decay), name="weight_decay")
        super()._prepare()

    def _decay(self, var, indices=None):
        """What must have run before the update: of the rows that it changes, when it is sparse."""
        if self._decay_var_list and var not in self._decay_var_list:
            return ops.no_op()
        rate = math_ops.cast(self._weight_decay_tensor, var.dtype.base_dtype)
        if indices is None:
            return variables.assign_sub(var, rate * var.read_value(), use_locking=self._use_locking)
        return variables.scatter("Sub", var, indices, rate * array_ops.gather(var.read_value(), indices), self._use_locking)

    def _apply_dense(self, grad, var):
        with graph.control_dependencies([self._decay(var)]):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad, var):
        with graph.control_dependencies([self._decay(var)]):
            return super()._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad, var):
        with graph.control_dependencies([self._decay(var, grad.indices)]):
            return super()._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad, var, indices):
        with graph.control_dependencies([self._decay(var, indices)]):
            return super()._resource_apply_sparse(grad, var, indices)


def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type[Optimizer]:
    """A class of an optimizer that has the weight decay as its first argument."""
    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """The optimizer with weight decay."""

        def __init__(self, weight_decay, *args, **kwargs):
            self._decay_var_list, self._weight_decay = None, weight_decay
            base_optimizer.__init__(self, *args, **kwargs)
    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decoupled weight decay."""

    def __init__(self, weight_decay: TensorLike | Callable[[], TensorLike],
                 learning_rate: TensorLike | Callable[[], TensorLike] = 0.001, beta1: TensorLike | Callable[[], TensorLike] = 0.9,
                 beta2: TensorLike | Callable[[], TensorLike] = 0.999, epsilon: TensorLike | Callable[[], TensorLike] = 1e-8,
                 use_locking: bool = False, name: str = "AdamW") -> None:
        super().__init__(weight_decay, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon,
                         use_locking=use_locking, name=name)


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decoupled weight decay."""

    def __init__(self, weight_decay: TensorLike | Callable[[], TensorLike], learning_rate: TensorLike | Callable[[], TensorLike],
                 momentum: TensorLike | Callable[[], TensorLike], use_locking: bool = False, name: str = "MomentumW",
                 use_nesterov: bool = False) -> None:
        super().__init__(weight_decay, learning_rate=learning_rate, momentum=momentum, use_locking=use_locking, name=name,
                         use_nesterov=use_nesterov)


class LazyAdamOptimizer(AdamOptimizer):
    """Adam that leaves the averages of rows without a gradient alone."""

    def _sparse(self, grad, var, indices):
        dtype = var.dtype.base_dtype
        power1, power2 = (math_ops.cast(p, dtype) for p in self._get_beta_accumulators())
        rate, beta1, beta2, epsilon = (math_ops.cast(t, dtype) for t in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t))
        rate = rate * apply("Sqrt", [1 - power2]) / (1 - power1)
        rows, writes = [], []
        for slot, beta, part in (("m", beta1, grad), ("v", beta2, grad * grad)):
            average = self.get_slot(var, slot)
            row = beta * array_ops.gather(average.read_value(), indices) + (1 - beta) * part
            rows.append(row)
            writes.append(variables.scatter("Update", average, indices, row, self._use_locking))
        step = rate * rows[0] / (apply("Sqrt", [rows[1]]) + epsilon)
        return ops.group(variables.scatter("Sub", var, indices, step, self._use_locking), *writes)

    def _apply_sparse(self, grad, var):
        return self._sparse(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._sparse(grad, var, indices)


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat)."""

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike] = 0.001,
                 beta1: TensorLike | Callable[[], TensorLike] = 0.9, beta2: TensorLike | Callable[[], TensorLike] = 0.999,
                 epsilon: TensorLike | Callable[[], TensorLike] = 1e-8, use_locking: bool = False, name: str = "Adam") -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._nesterov = True  # of the operation ApplyAdam

    def _apply_dense(self, grad, var):
        return super()._apply_dense(grad, var)

    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        dtype = var.dtype.base_dtype
        power1, power2 = (math_ops.cast(p, dtype) for p in self._get_beta_accumulators())
        rate, beta1, beta2, epsilon = (math_ops.cast(t, dtype) for t in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t))
        rate = rate * apply("Sqrt", [1 - power2]) / (1 - power1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        scaled = grad * (1 - beta1)
        with graph.control_dependencies([variables.assign(m, m * beta1, use_locking=self._use_locking)]):
            m_now = scatter_add(m, indices, scaled)
        with graph.control_dependencies([m_now]):  # beta1 m + (1 - beta1) g, where there is a gradient
            ahead = apply("ScatterNd", [array_ops.expand_dims(indices, 1), scaled, array_ops.shape(m_now)]) + m_now * beta1
        with graph.control_dependencies([variables.assign(v, v * beta2, use_locking=self._use_locking)]):
            v_now = scatter_add(v, indices, grad * grad * (1 - beta2))
        step = rate * ahead / (apply("Sqrt", [v_now]) + epsilon)
        return ops.group(variables.assign_sub(var, step, use_locking=self._use_locking), m_now, v_now)


class _SignOptimizer(Optimizer):
    """An average m of gradients; its sign beside the gradient's scales the step."""

    def __init__(self, learning_rate, factor, beta, sign_decay_fn, use_locking, name):
        super().__init__(use_locking, name)
        self._lr, self._factor, self._beta, self._sign_decay_fn = learning_rate, factor, beta, sign_decay_fn

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        self._sign_decay = self._sign_decay_fn(global_step) if self._sign_decay_fn is not None else None
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "m", self._name)

    def _prepare(self):
        self._lr_t = convert_to_tensor(self._lr, name="learning_rate")
        self._beta_t = convert_to_tensor(self._beta, name="beta")

    def _step(self, grad, var):
        dtype = var.dtype.base_dtype
        m, beta = self.get_slot(var, "m"), math_ops.cast(self._beta_t, dtype)
        now = variables.assign(m, m.read_value() * beta + grad * (1 - beta), use_locking=self._use_locking)
        decay = 1.0 if self._sign_decay is None else math_ops.cast(self._sign_decay, dtype)
        scale = self._scale(decay * apply("Sign", [grad]) * apply("Sign", [now]))
        return ops.group(variables.assign_sub(var, math_ops.cast(self._lr_t, dtype) * scale * grad,
                                              use_locking=self._use_locking), now)

    def _apply_dense(self, grad, var):
        return self._step(grad, var)

    def _resource_apply_dense(self, grad, var):
        return self._step(grad, var)


class PowerSignOptimizer(_SignOptimizer):
    """Steps times base to the power of sign(g) sign(m) (Bello and others)."""

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike] = 0.1, base: float = math.e, beta: float = 0.9,
                 sign_decay_fn: Callable[[TensorLike], TensorLike] | None = None, use_locking: bool = False,
                 name: str = "PowerSignOptimizer") -> None:
        super().__init__(learning_rate, math.log(base), beta, sign_decay_fn, use_locking, name)

    def _scale(self, sign):
        return apply("Exp", [self._factor * sign])


class AddSignOptimizer(_SignOptimizer):
    """Steps times alpha + sign(g) sign(m)."""

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike] = 0.1, alpha: float = 1.0, beta: float = 0.9,
                 sign_decay_fn: Callable[[TensorLike], TensorLike] | None = None, use_locking: bool = False,
                 name: str = "AddSignOptimizer") -> None:
        super().__init__(learning_rate, alpha, beta, sign_decay_fn, use_locking, name)

    def _scale(self, sign):
        return self._factor + sign


class MovingAverageOptimizer(Optimizer):
    """An optimizer whose variables have moving averages, which swapping_saver() saves in their place."""

    def __init__(self, opt: Optimizer, average_decay: float = 0.9999, num_updates: IntLike | None = None,
                 sequential_update: bool = True) -> None:
        super().__init__(False, opt.get_name())
        self._optimizer, self._sequential = opt, sequential_update
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped = None

    def compute_gradients(self, *args: object, **kwargs: object) -> list[tuple[Gradient | None, Variable]]:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Gradient | None, Variable]], global_step: Variable | Tensor | None = None,
                        name: str | None = None) -> Operation:
        step = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        changed = [v for _, v in grads_and_vars]
        with graph.control_dependencies([step] if self._sequential else []):
            averages = self._ema.apply(changed)
        self._swapped = {v.op.name: self._ema.average(v) for v in changed}
        for v in changed:
            self._swapped[self._ema.average_name(v)] = v
        return ops.group(step, averages, name="train_with_avg")

    def swapping_saver(self, var_list: Sequence[Variable] | Mapping[str, Variable] | None = None, name: str = "swapping_saver",
                       **kwargs: object) -> Saver:
        """A Saver that writes averages under the variables' names; call apply_gradients or minimize first."""
        if self._swapped is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        var_list = variables.global_variables() if var_list is None else var_list
        by_name = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        return Saver({key: self._swapped.get(key, v) for key, v in by_name.items()}, name=name, **kwargs)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Variable]:
        return self._optimizer.variables()


def clip_gradients_by_global_norm(gradients_variables: Sequence[tuple[Gradient | None, Variable]],
                                  clip_norm: float = 20.0) -> list[tuple[Gradient | None, Variable]]:
    """[(gradient, variable)] with gradients that have at most this norm together."""
    found, changed = zip(*gradients_variables)
    return list(zip(clip_by_global_norm(found, clip_norm)[0], changed))


names.complete(globals())
