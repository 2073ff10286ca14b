# SPDX-License-Identifier: Apache-2.0
"""tf.keras.optimizers: each variable is updated by one operation where there is one."""
from __future__ import annotations

from typing import TYPE_CHECKING

import thalweg
from thalweg import train
from thalweg.base import names
from thalweg.control import replicas
from thalweg.graph.tensor import IndexedSlices
from thalweg.keras import graph_backend, schedules, utils
from thalweg.keras.optimizer_base import Optimizer
from thalweg.keras.schedules import LearningRateSchedule, Rate
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.graph.tensor import Operation, Tensor

ops = thalweg.raw_ops


class _Kind(Optimizer):
    """An optimizer with hyperparameters by name."""

    _PLAIN = ()  # arguments that are no variables

    def __init__(self, name, kwargs, **arguments):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", arguments.pop("learning_rate")))
        self._set_hyper("decay", self._initial_decay)
        for argument, value in arguments.items():
            if argument in self._PLAIN:
                setattr(self, argument, value)
            else:
                self._set_hyper(argument, value)
        self._told = [*arguments]

    def _value(self, name, var):
        """A hyperparameter in the type of a variable, one node for all variables of a step, of each replica; the learning rate is that of this
        step."""
        here = replicas.here()
        key = name, var.dtype.base_dtype, here and here.device
        if key not in self._shared:
            self._shared[key] = self._made_value(name, var)
        return self._shared[key]

    def _made_value(self, name, var):
        if name == "step":
            return thalweg.cast(self.iterations + 1, var.dtype.base_dtype)
        if name.endswith("**step"):
            return self._value(name.removesuffix("**step"), var) ** self._step(var)
        if name == "learning_rate":
            return self._decayed_lr(var.dtype.base_dtype)
        if name in self._PLAIN:
            return thalweg.constant(getattr(self, name), dtype=var.dtype.base_dtype)
        return thalweg.cast(self._get_hyper(name), var.dtype.base_dtype)

    def _values(self, var, listed):
        return [self._value(name, var) for name in ["learning_rate", *listed.split()]]

    def _step(self, var):
        """The number of this step, from 1."""
        return self._value("step", var)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such an optimizer."""
        more = {n: getattr(self, n) if n in self._PLAIN else self._serialize_hyperparameter(n) for n in self._told}
        return {**super().get_config(), "learning_rate": self._serialize_hyperparameter("learning_rate"),
                "decay": self._serialize_hyperparameter("decay"), **more}


def _has_momentum(momentum):
    """Whether an optimizer with this argument keeps the changes of steps before."""
    if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
        raise ValueError("`momentum` must be between [0, 1].")
    return callable(momentum) or isinstance(momentum, (thalweg.Tensor, Variable)) or momentum > 0


class SGD(_Kind):
    """Gradient descent, with momentum if asked for."""

    _PLAIN = ("nesterov",)

    def __init__(self, learning_rate: Rate = 0.01, momentum: float = 0.0, nesterov: bool = False, name: str = "SGD", **kwargs: Any) -> None:
        self._momentum = _has_momentum(momentum)
        super().__init__(name, kwargs, learning_rate=learning_rate, momentum=momentum, nesterov=nesterov)

    def _create_slots(self, var_list):
        if self._momentum:
            for var in var_list:
                self.add_slot(var, "momentum")

    def _resource_apply_dense(self, grad, var):
        rate, momentum = self._values(var, "momentum")
        if not self._momentum:
            return ops.ResourceApplyGradientDescent(var=var.handle, alpha=rate, delta=grad)
        return ops.ResourceApplyKerasMomentum(var=var.handle, accum=self.get_slot(var, "momentum").handle, lr=rate, grad=grad,
                                              momentum=momentum, use_nesterov=self.nesterov)

    def _resource_apply_sparse(self, grad, var, indices):
        rate, momentum = self._values(var, "momentum")
        if not self._momentum:
            return ops.ResourceScatterAdd(resource=var.handle, indices=indices, updates=-grad * rate)
        return ops.ResourceSparseApplyKerasMomentum(var=var.handle, accum=self.get_slot(var, "momentum").handle, lr=rate, grad=grad,
                                                    indices=indices, momentum=momentum, use_nesterov=self.nesterov)


class Adam(_Kind):
    """Adam, which with `amsgrad` divides by the root of the greatest second moment so far."""

    _PLAIN = ("epsilon", "amsgrad")

    def __init__(self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
                 amsgrad: bool = False, name: str = "Adam", **kwargs: Any) -> None:
        super().__init__(name, kwargs, learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2,
                         epsilon=epsilon or graph_backend.epsilon(), amsgrad=amsgrad)

    def _create_slots(self, var_list):
        for slot in ("m", "v", "vhat")[:3 if self.amsgrad else 2]:
            for var in var_list:
                self.add_slot(var, slot)

    def _resource_apply_dense(self, grad, var):
        rate, beta_1, beta_2, epsilon = self._values(var, "beta_1 beta_2 epsilon")
        shared = dict(var=var.handle, m=self.get_slot(var, "m").handle, v=self.get_slot(var, "v").handle,
                      beta1_power=self._value("beta_1**step", var), beta2_power=self._value("beta_2**step", var), lr=rate, beta1=beta_1,
                      beta2=beta_2, epsilon=epsilon, grad=grad)
        if self.amsgrad:
            return ops.ResourceApplyAdamWithAmsgrad(vhat=self.get_slot(var, "vhat").handle, **shared)
        return ops.ResourceApplyAdam(**shared)


class Adamax(_Kind):
    """Adam that divides by the greatest gradient, which is forgotten slowly."""

    _PLAIN = ("epsilon",)

    def __init__(self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
                 name: str = "Adamax", **kwargs: Any) -> None:
        super().__init__(name, kwargs, learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2,
                         epsilon=epsilon or graph_backend.epsilon())

    def _create_slots(self, var_list):
        for slot in ("m", "v"):
            for var in var_list:
                self.add_slot(var, slot)

    def _resource_apply_dense(self, grad, var):
        rate, beta_1, beta_2, epsilon = self._values(var, "beta_1 beta_2 epsilon")
        return ops.ResourceApplyAdaMax(var=var.handle, m=self.get_slot(var, "m").handle, v=self.get_slot(var, "v").handle,
                                       beta1_power=self._value("beta_1**step", var), lr=rate, beta1=beta_1, beta2=beta_2, epsilon=epsilon,
                                       grad=grad)

    def _resource_apply_sparse(self, grad, var, indices):
        """Rows without a gradient stay as they are, their slots too."""
        rate, beta_1, beta_2, epsilon = self._values(var, "beta_1 beta_2 epsilon")
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = beta_1 * thalweg.gather(m, indices) + (1 - beta_1) * grad
        new_v = thalweg.maximum(beta_2 * thalweg.gather(v, indices), thalweg.abs(grad))
        change = -rate / (1 - self._value("beta_1**step", var)) * new_m / (new_v + epsilon)
        return thalweg.group(ops.ResourceScatterUpdate(resource=m.handle, indices=indices, updates=new_m),
                             ops.ResourceScatterUpdate(resource=v.handle, indices=indices, updates=new_v),
                             ops.ResourceScatterAdd(resource=var.handle, indices=indices, updates=change))


class Nadam(_Kind):
    """Adam with Nesterov's momentum, which grows with the steps."""

    _PLAIN = ("epsilon",)

    def __init__(self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
                 name: str = "Nadam", **kwargs: Any) -> None:
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError("The Nadam optimizer does not support tf.keras.optimizers.LearningRateSchedules as the learning rate.")
        kwargs["decay"] = kwargs.pop("schedule_decay", kwargs.get("decay", 0.004))
        super().__init__(name, kwargs, learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2,
                         epsilon=epsilon or graph_backend.epsilon())
        self._cache = self._schedule = None

    def _create_slots(self, var_list):
        if self._cache is None:
            self._cache = self.add_weight("momentum_cache", initializer="ones", dtype=var_list[0].dtype.base_dtype)
        for slot in ("m", "v"):
            for var in var_list:
                self.add_slot(var, slot)

    def _prepare(self, var_list):
        var = var_list[0]
        beta_1, step = self._value("beta_1", var), self._step(var)
        now, following = (beta_1 * (1 - 0.5 * 0.96 ** (self._initial_decay * s)) for s in (step, step + 1))
        product = self._cache.read_value() * now
        with thalweg.control_dependencies([product]):
            kept = self._cache.assign(product)
        self._schedule = now, following, product, product * following, kept

    def _moments(self, grad, var):
        """The two moments of all elements behind this step."""
        beta_1, beta_2 = self._value("beta_1", var), self._value("beta_2", var)
        return (beta_1 * self.get_slot(var, "m") + (1 - beta_1) * grad,
                beta_2 * self.get_slot(var, "v") + (1 - beta_2) * thalweg.square(grad))

    def _change(self, grad, var, new_m, new_v):
        """What this step subtracts from the elements that have these gradients and moments."""
        rate, epsilon = self._get_hyper("learning_rate", var.dtype.base_dtype), self._value("epsilon", var)
        now, following, product, next_product, _ = self._schedule
        ahead = (1 - now) * grad / (1 - product) + following * new_m / (1 - next_product)
        return rate * ahead / (thalweg.sqrt(new_v / (1 - self._value("beta_2**step", var))) + epsilon)

    def _kept(self, var, new_m, new_v):
        return self.get_slot(var, "m").assign(new_m), self.get_slot(var, "v").assign(new_v)

    def _resource_apply_dense(self, grad, var):
        moments = self._moments(grad, var)
        change = self._change(grad, var, *moments)
        with thalweg.control_dependencies([change, self._schedule[-1]]):
            return thalweg.group(*self._kept(var, *moments), var.assign_sub(change))

    def _resource_apply_sparse(self, grad, var, indices):
        """Rows without a gradient stay as they are; their moments fade."""
        moments = self._moments(thalweg.convert_to_tensor(IndexedSlices(grad, indices, thalweg.shape(var))), var)
        change = self._change(grad, var, *(thalweg.gather(moment, indices) for moment in moments))
        with thalweg.control_dependencies([change, self._schedule[-1]]):
            return thalweg.group(*self._kept(var, *moments),
                                 ops.ResourceScatterAdd(resource=var.handle, indices=indices, updates=-change))


class RMSprop(_Kind):
    """Divides each gradient by the root of the mean square of those so far."""

    _PLAIN = ("epsilon", "centered")

    def __init__(self, learning_rate: Rate = 0.001, rho: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-7, centered: bool = False,
                 name: str = "RMSprop", **kwargs: Any) -> None:
        self._momentum = _has_momentum(momentum)
        super().__init__(name, kwargs, learning_rate=learning_rate, rho=rho, momentum=momentum, epsilon=epsilon or graph_backend.epsilon(),
                         centered=centered)

    def _create_slots(self, var_list):
        for slot, wanted in (("rms", True), ("momentum", self._momentum), ("mg", self.centered)):
            for var in var_list if wanted else ():
                self.add_slot(var, slot)

    def _by_operation(self, var, grad, prefix, **more):
        rate, rho, momentum, epsilon = self._values(var, "rho momentum epsilon")
        shared = dict(var=var.handle, ms=self.get_slot(var, "rms").handle, mom=self.get_slot(var, "momentum").handle, lr=rate, rho=rho,
                      momentum=momentum, epsilon=epsilon, grad=grad, **more)
        if self.centered:
            return getattr(ops, prefix + "CenteredRMSProp")(mg=self.get_slot(var, "mg").handle, **shared)
        return getattr(ops, prefix + "RMSProp")(**shared)

    def _resource_apply_dense(self, grad, var):
        if self._momentum:
            return self._by_operation(var, grad, "ResourceApply")
        rate, rho, epsilon = self._values(var, "rho epsilon")
        rms = self.get_slot(var, "rms")
        new = rho * rms + (1 - rho) * thalweg.square(grad)
        spread, kept = new, [(rms, new)]
        if self.centered:
            mean = self.get_slot(var, "mg")
            new_mean = rho * mean + (1 - rho) * grad
            spread, kept = new - thalweg.square(new_mean), [*kept, (mean, new_mean)]
        change = rate * grad / (thalweg.sqrt(spread) + epsilon)
        with thalweg.control_dependencies([change]):
            return thalweg.group(var.assign_sub(change), *[slot.assign(value) for slot, value in kept])

    def _resource_apply_sparse(self, grad, var, indices):
        if self._momentum:
            return self._by_operation(var, grad, "ResourceSparseApply", indices=indices)
        return super()._resource_apply_sparse(grad, var, indices)


class Adagrad(_Kind):
    """Divides each gradient by the root of the sum of squares of those so far."""

    _PLAIN = ("initial_accumulator_value", "epsilon")

    def __init__(self, learning_rate: Rate = 0.001, initial_accumulator_value: float = 0.1, epsilon: float = 1e-7, name: str = "Adagrad",
                 **kwargs: Any) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, kwargs, learning_rate=learning_rate, initial_accumulator_value=initial_accumulator_value,
                         epsilon=epsilon or graph_backend.epsilon())

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "accumulator", thalweg.constant_initializer(self.initial_accumulator_value))

    def _resource_apply_dense(self, grad, var):
        rate, epsilon = self._values(var, "epsilon")
        return ops.ResourceApplyAdagradV2(var=var.handle, accum=self.get_slot(var, "accumulator").handle, lr=rate, epsilon=epsilon, grad=grad)

    def _resource_apply_sparse(self, grad, var, indices):
        rate, epsilon = self._values(var, "epsilon")
        return ops.ResourceSparseApplyAdagradV2(var=var.handle, accum=self.get_slot(var, "accumulator").handle, lr=rate, epsilon=epsilon,
                                                grad=grad, indices=indices)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, object] | None = None) -> Adagrad:
        """Without a first value in the configuration it is 0."""
        return super().from_config({"initial_accumulator_value": 0.0, **config}, custom_objects)


class Adadelta(_Kind):
    """Scales each gradient by the root mean square of changes over that of gradients."""

    _PLAIN = ("epsilon",)

    def __init__(self, learning_rate: Rate = 0.001, rho: float = 0.95, epsilon: float = 1e-7, name: str = "Adadelta", **kwargs: Any) -> None:
        super().__init__(name, kwargs, learning_rate=learning_rate, rho=rho, epsilon=epsilon or graph_backend.epsilon())

    def _create_slots(self, var_list):
        for slot in ("accum_grad", "accum_var"):
            for var in var_list:
                self.add_slot(var, slot)

    def _operands(self, grad, var):
        rate, rho, epsilon = self._values(var, "rho epsilon")
        return dict(var=var.handle, accum=self.get_slot(var, "accum_grad").handle, accum_update=self.get_slot(var, "accum_var").handle,
                    lr=rate, rho=rho, epsilon=epsilon, grad=grad)

    def _resource_apply_dense(self, grad, var):
        return ops.ResourceApplyAdadelta(**self._operands(grad, var))

    def _resource_apply_sparse(self, grad, var, indices):
        return ops.ResourceSparseApplyAdadelta(indices=indices, **self._operands(grad, var))


class Ftrl(_Kind):
    """Follow the regularized leader."""

    _PLAIN = ("initial_accumulator_value", "l2_shrinkage_regularization_strength")

    def __init__(self, learning_rate: Rate = 0.001, learning_rate_power: float = -0.5, initial_accumulator_value: float = 0.1,
                 l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, name: str = "Ftrl",
                 l2_shrinkage_regularization_strength: float = 0.0, **kwargs: Any) -> None:
        super().__init__(name, kwargs, learning_rate=learning_rate, initial_accumulator_value=initial_accumulator_value,
                         learning_rate_power=learning_rate_power, l1_regularization_strength=l1_regularization_strength,
                         l2_regularization_strength=l2_regularization_strength,
                         l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength)

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "accumulator", thalweg.constant_initializer(self.initial_accumulator_value))
            self.add_slot(var, "linear")

    def _resource_apply_dense(self, grad, var):
        rate, power, l1, l2 = self._values(var, "learning_rate_power l1_regularization_strength l2_regularization_strength")
        shared = dict(var=var.handle, accum=self.get_slot(var, "accumulator").handle, linear=self.get_slot(var, "linear").handle,
                      grad=grad, lr=rate, l1=l1, l2=l2, lr_power=power)
        if self.l2_shrinkage_regularization_strength <= 0.0:
            return ops.ResourceApplyFtrl(**shared)
        return ops.ResourceApplyFtrlV2(l2_shrinkage=self._value("l2_shrinkage_regularization_strength", var), **shared)

    def _resource_apply_sparse(self, grad, var, indices):
        if self.l2_shrinkage_regularization_strength > 0.0:
            raise NotImplementedError("l2_shrinkage_regularization_strength of tf.keras.optimizers.Ftrl is not implemented in Thalweg for "
                                      "sparse gradients")
        rate, power, l1, l2 = self._values(var, "learning_rate_power l1_regularization_strength l2_regularization_strength")
        return ops.ResourceSparseApplyFtrl(var=var.handle, accum=self.get_slot(var, "accumulator").handle,
                                           linear=self.get_slot(var, "linear").handle, grad=grad, indices=indices, lr=rate, l1=l1, l2=l2,
                                           lr_power=power)


class TFOptimizer(Optimizer):
    """An optimizer of tf.train as one of a model."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(type(optimizer).__name__)
        self.optimizer = optimizer

    def _checkpoint_parts(self):
        return {**super()._checkpoint_parts(), "optimizer": self.optimizer}

    def get_updates(self, loss: Tensor, params: Sequence[Variable]) -> list[Operation]:
        """What a step of training does."""
        return [self.optimizer.apply_gradients(self.optimizer.compute_gradients(loss, var_list=params), global_step=self.iterations)]

    @property
    def weights(self) -> list[Variable]:
        """Refuses: an optimizer of tf.train does not tell its variables."""
        raise NotImplementedError("An optimizer of tf.train has no weights that tf.keras could tell")

    def get_config(self) -> dict[str, Any]:
        """Refuses: an optimizer of tf.train has no configuration."""
        raise NotImplementedError("An optimizer of tf.train has no configuration")


_ALL = {cls.__name__.lower(): cls for cls in (SGD, Adam, Adamax, Nadam, RMSprop, Adagrad, Adadelta, Ftrl)}


def serialize(optimizer: Optimizer) -> dict[str, Any]:
    """The class and the configuration."""
    return {"class_name": type(optimizer).__name__, "config": optimizer.get_config()}


def deserialize(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Optimizer:
    """An optimizer of a class and a configuration."""
    name = config["class_name"]
    found = {**utils.get_custom_objects(), **(custom_objects or {})}.get(name) or _ALL.get(name.lower())
    if found is None:
        raise ValueError(f"Unknown optimizer: {name}")
    return utils.made_of_config(found, config["config"], custom_objects)


def get(identifier: object) -> Optimizer:
    """An optimizer by its name, its configuration, or itself; one of tf.train as one of a model."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, train.Optimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")


__all__ = ["Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "Optimizer", "RMSprop", "SGD", "deserialize", "get", "schedules",
           "serialize"]
names.complete(globals())
