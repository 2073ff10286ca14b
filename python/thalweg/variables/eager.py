# SPDX-License-Identifier: Apache-2.0
"""Switches between TensorFlow 1 and 2: here graphs are always built first, with TensorFlow 1's control flow."""
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
    """Whether operations run when they are made: never."""
    return False


def enable_eager_execution(config: ConfigProto | None = None, device_policy: int | None = None,
                           execution_mode: int | None = None) -> None:
    """Not here: there are graphs and sessions."""
    raise NotImplementedError("Thalweg runs graphs: there is no eager execution. Build the graph and run it in a tf.Session.")


def disable_eager_execution() -> None:
    """Nothing to switch off."""


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
    """TensorFlow 2's behavior is not here."""
    enable_eager_execution()


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
    """For programs written against TensorFlow 2's compat.v1: what they ask for is how this package always is."""
