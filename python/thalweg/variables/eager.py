# SPDX-License-Identifier: Apache-2.0
"""Switches between TensorFlow 1 and 2: whether operations run at once, what variables are."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg.graph import graph as graph_module
from thalweg.operations import custom_gradients
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from thalweg.messages import ConfigProto


def executing_eagerly() -> bool:
    """Whether operations of this thread run when they are made."""
    return graph_module.get_default_graph()._executes


def enable_eager_execution(config: ConfigProto | None = None, device_policy: int | None = None,
                           execution_mode: int | None = None) -> None:
    """Operations run when they are made from now on, where no graph is the default one.

    Parameters
    ----------
    config : ConfigProto, optional
        Threads, devices, memory.
    device_policy, execution_mode : optional
        Have no effect: there is one kind of devices, and each operation has run when it returns.

    Raises
    ------
    ValueError
        The default graph has operations already.

    Examples
    --------
    >>> tw.enable_eager_execution()  # doctest: +SKIP
    >>> tw.constant(1.0) + 2.0  # doctest: +SKIP
    <tf.Tensor: id=2, shape=(), dtype=float32, numpy=3.0>
    """
    from thalweg.eager import context  # few programs run operations at once
    if execution_mode not in (None, 0, 1):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    if device_policy not in (None, 0, 1, 2, 3):
        raise ValueError("device_policy must be one of None, tf.contrib.eager.DEVICE_PLACEMENT_*")
    context.enable(config)


def disable_eager_execution() -> None:
    """Graphs are built first from now on, as they are unless enable_eager_execution was called."""
    if graph_module.make_global is not graph_module.Graph:
        graph_module.make_global_with(graph_module.Graph)


def enable_control_flow_v2() -> None:
    """Loops and conditionals compute the same either way; custom_gradient looks for variables within them alone."""
    custom_gradients.control_flow_is_functions = True


def enable_tensor_equality() -> NoReturn:
    """Not here: == compares which tensors they are, as in TensorFlow 1."""
    raise NotImplementedError("tf.enable_tensor_equality is not there: == compares which tensors they are, as in TensorFlow 1")


def disable_control_flow_v2() -> None:
    """What enable_control_flow_v2 says holds no more."""
    custom_gradients.control_flow_is_functions = False


def disable_tensor_equality() -> None:
    """Nothing to switch off."""


def enable_v2_behavior() -> None:
    """Operations run when they are made, and new variables are resources."""
    enable_eager_execution()
    enable_control_flow_v2()
    variables.enable_resource_variables()


def control_flow_v2_enabled() -> bool:
    """Whether new loops and conditionals are functions: no."""
    return False


def resource_variables_enabled() -> bool:
    """Whether new variables are resources unless they say otherwise."""
    return variables._use_resource


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Outside of all control flow and function bodies, where variables are initialized."""
    target = graph_module.get_default_graph()
    while target._captures is not None:
        target = target.outermost()
    scope = target.get_name_scope()
    with target.as_default(), target.control_dependencies(None), target.name_scope(scope + "/" if scope else None):
        yield


def disable_v2_behavior() -> None:
    """Graphs are built first, and new variables are references, as it is from the start."""
    disable_eager_execution()
    disable_control_flow_v2()
    variables.disable_resource_variables()
