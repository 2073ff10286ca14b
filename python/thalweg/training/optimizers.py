# SPDX-License-Identifier: Apache-2.0
"""The usual optimizers."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.training.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.base.typing import TensorLike


class GradientDescentOptimizer(Optimizer):
    """Plain descent: v -= learning_rate * g.

    Parameters
    ----------
    learning_rate : float or Tensor or callable
        How far to go.
    use_locking : bool
        Whether updates of a variable exclude each other.
    name : str
        Begins the names of updates.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     w = tw.Variable(3.0)
    ...     train_op = tw.train.GradientDescentOptimizer(0.5).minimize(w * w)
    ...     sess.run(w.initializer)
    ...     sess.run(train_op)
    ...     print(sess.run(w))
    0.0
    """
    _kind = "GradientDescent"

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike], use_locking: bool = False,
                 name: str = "GradientDescent") -> None:
        self._set_up(use_locking, name, learning_rate=learning_rate)


class MomentumOptimizer(Optimizer):
    """Gradients with momentum, plain or Nesterov's.

    a = momentum * a + g; v -= learning_rate * a, or with `use_nesterov` v -= learning_rate * (g + momentum * a).

    Parameters
    ----------
    learning_rate : float or Tensor or callable
        How far to go.
    momentum : float or Tensor or callable
        How much of the last step goes on.
    use_locking : bool
        Whether updates of a variable exclude each other.
    name : str
        Begins the names of slots and updates.
    use_nesterov : bool
        Whether the gradient counts as if the step were already made.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     w = tw.Variable(4.0)
    ...     train_op = tw.train.MomentumOptimizer(0.25, 0.5).minimize(w * w)
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(train_op)
    ...     sess.run(train_op)
    ...     print(sess.run(w))
    0.0
    """
    _kind = "Momentum"

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike], momentum: TensorLike | Callable[[], TensorLike],
                 use_locking: bool = False, name: str = "Momentum", use_nesterov: bool = False) -> None:
        self._set_up(use_locking, name, use_nesterov, learning_rate=learning_rate, momentum=momentum)


class AdagradOptimizer(Optimizer):
    """Rates that fall with the sum of squared gradients: a += g ** 2; v -= learning_rate * g / sqrt(a).

    Parameters
    ----------
    learning_rate : float or Tensor or callable
        How far to go.
    initial_accumulator_value : float
        What the sums begin with; above 0.
    use_locking : bool
        Whether updates of a variable exclude each other.
    name : str
        Begins the names of slots and updates.

    Raises
    ------
    ValueError
        If `initial_accumulator_value` is not above 0.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     w = tw.Variable(3.0)
    ...     train_op = tw.train.AdagradOptimizer(0.5).minimize(w * w)
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(train_op)
    ...     print(round(float(sess.run(w)), 2))
    2.5
    """
    _kind = "Adagrad"

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike], initial_accumulator_value: float = 0.1,
                 use_locking: bool = False, name: str = "Adagrad") -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     initial_accumulator_value=initial_accumulator_value)


class AdadeltaOptimizer(Optimizer):
    """Rates from moving averages of squared gradients and steps."""
    _kind = "Adadelta"

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike] = 0.001,
                 rho: TensorLike | Callable[[], TensorLike] = 0.95, epsilon: TensorLike | Callable[[], TensorLike] = 1e-8,
                 use_locking: bool = False, name: str = "Adadelta") -> None:
        self._set_up(use_locking, name, learning_rate=learning_rate, rho=rho, epsilon=epsilon)


class RMSPropOptimizer(Optimizer):
    """Rates from a moving average of squared gradients.

    ms = decay * ms + (1 - decay) * g ** 2; m = momentum * m + learning_rate * g / sqrt(ms + epsilon); v -= m. With `centered`
    the square of the moving average of g is taken from ms.

    Parameters
    ----------
    learning_rate : float or Tensor or callable
        How far to go.
    decay : float or Tensor
        How much of the average stays in each step.
    momentum : float or Tensor
        How much of the last step is gone again.
    epsilon : float or Tensor
        Keeps the square root from zero.
    use_locking : bool
        Whether updates of a variable exclude each other.
    centered : bool
        Whether gradients are measured by their variance.
    name : str
        Begins the names of slots and updates.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     w = tw.Variable(3.0)
    ...     train_op = tw.train.RMSPropOptimizer(0.1).minimize(w * w)
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(train_op)
    ...     print(sess.run(w) < 3.0)
    True
    """
    _kind = "RMSProp"

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike], decay: TensorLike | Callable[[], TensorLike] = 0.9,
                 momentum: TensorLike | Callable[[], TensorLike] = 0.0, epsilon: TensorLike | Callable[[], TensorLike] = 1e-10,
                 use_locking: bool = False, centered: bool = False, name: str = "RMSProp") -> None:
        self._kind = "CenteredRMSProp" if centered else "RMSProp"
        self._set_up(use_locking, name, learning_rate=learning_rate, decay=decay, momentum=momentum, epsilon=epsilon)


class AdamOptimizer(Optimizer):
    """Moving averages of gradients and their squares, corrected for their start (arXiv 1412.6980).

    m = beta1 * m + (1 - beta1) * g; s = beta2 * s + (1 - beta2) * g ** 2;
    v -= learning_rate * sqrt(1 - beta2 ** t) / (1 - beta1 ** t) * m / (sqrt(s) + epsilon) in step t.

    Parameters
    ----------
    learning_rate : float or Tensor or callable
        How far to go.
    beta1, beta2 : float or Tensor or callable
        How much of the averages of g and g ** 2 stays in each step.
    epsilon : float or Tensor or callable
        Keeps the divisor from zero.
    use_locking : bool
        Whether updates of a variable exclude each other.
    name : str
        Begins the names of slots and updates.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     w = tw.Variable(3.0)
    ...     train_op = tw.train.AdamOptimizer(0.1).minimize(w * w)
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(train_op)
    ...     print(round(float(sess.run(w)), 3))
    2.9
    """
    _kind = "Adam"

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike] = 0.001,
                 beta1: TensorLike | Callable[[], TensorLike] = 0.9, beta2: TensorLike | Callable[[], TensorLike] = 0.999,
                 epsilon: TensorLike | Callable[[], TensorLike] = 1e-8, use_locking: bool = False, name: str = "Adam") -> None:
        self._set_up(use_locking, name, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader."""
    _kind = "Ftrl"

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike], learning_rate_power: float = -0.5,
                 initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
                 l2_regularization_strength: float = 0.0, use_locking: bool = False, name: str = "Ftrl",
                 accum_name: str | None = None, linear_name: str | None = None,
                 l2_shrinkage_regularization_strength: float = 0.0) -> None:
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

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike], l1_regularization_strength: float = 0.0,
                 l2_regularization_strength: float = 0.0, use_locking: bool = False,
                 name: str = "ProximalGradientDescent") -> None:
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     l1_regularization_strength=l1_regularization_strength,
                     l2_regularization_strength=l2_regularization_strength)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with L1 and L2 penalties."""
    _kind = "ProximalAdagrad"

    def __init__(self, learning_rate: TensorLike | Callable[[], TensorLike], initial_accumulator_value: float = 0.1,
                 l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False,
                 name: str = "ProximalAdagrad") -> None:
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     initial_accumulator_value=initial_accumulator_value,
                     l1_regularization_strength=l1_regularization_strength,
                     l2_regularization_strength=l2_regularization_strength)
