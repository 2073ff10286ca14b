# SPDX-License-Identifier: Apache-2.0
"""The usual optimizers."""
from thalweg.training.optimizer import Optimizer


class GradientDescentOptimizer(Optimizer):
    """v -= learning_rate * g."""
    _kind = "GradientDescent"

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        self._set_up(use_locking, name, learning_rate=learning_rate)


class MomentumOptimizer(Optimizer):
    """Gradients with momentum, plain or Nesterov's."""
    _kind = "Momentum"

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        self._set_up(use_locking, name, use_nesterov, learning_rate=learning_rate, momentum=momentum)


class AdagradOptimizer(Optimizer):
    """Rates that fall with the sum of squared gradients."""
    _kind = "Adagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     initial_accumulator_value=initial_accumulator_value)


class AdadeltaOptimizer(Optimizer):
    """Rates from moving averages of squared gradients and steps."""
    _kind = "Adadelta"

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        self._set_up(use_locking, name, learning_rate=learning_rate, rho=rho, epsilon=epsilon)


class RMSPropOptimizer(Optimizer):
    """Rates from a moving average of squared gradients."""
    _kind = "RMSProp"

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False,
                 name="RMSProp"):
        self._kind = "CenteredRMSProp" if centered else "RMSProp"
        self._set_up(use_locking, name, learning_rate=learning_rate, decay=decay, momentum=momentum, epsilon=epsilon)


class AdamOptimizer(Optimizer):
    """Moving averages of gradients and their squares, corrected for their start."""
    _kind = "Adam"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        self._set_up(use_locking, name, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader."""
    _kind = "Ftrl"

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name="Ftrl",
                 accum_name=None, linear_name=None, l2_shrinkage_regularization_strength=0.0):
        more = {}
        if l2_shrinkage_regularization_strength > 0:
            self._kind = "FtrlV2"
            more["l2_shrinkage_regularization_strength"] = l2_shrinkage_regularization_strength
        self._set_up(use_locking, name, learning_rate=learning_rate, learning_rate_power=learning_rate_power,
                     initial_accumulator_value=initial_accumulator_value,
                     l1_regularization_strength=l1_regularization_strength,
                     l2_regularization_strength=l2_regularization_strength, **more)


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with L1 and L2 penalties."""
    _kind = "ProximalGradientDescent"

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="ProximalGradientDescent"):
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     l1_regularization_strength=l1_regularization_strength,
                     l2_regularization_strength=l2_regularization_strength)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with L1 and L2 penalties."""
    _kind = "ProximalAdagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="ProximalAdagrad"):
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     initial_accumulator_value=initial_accumulator_value,
                     l1_regularization_strength=l1_regularization_strength,
                     l2_regularization_strength=l2_regularization_strength)
