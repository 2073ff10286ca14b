# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.eager: operations that run at once, and gradients of functions of Python."""
from thalweg.base import names
from thalweg.compatibility.eager_context import (  # noqa: F401
    async_clear_error,
    async_wait,
    execution_mode,
    in_eager_mode,
    list_devices,
    num_gpus,
    set_execution_mode,
)
from thalweg.compatibility.eager_tests import run_all_tests_in_graph_and_eager_modes, run_test_in_graph_and_eager_modes  # noqa: F401
from thalweg.compatibility.private_names import ResourceVariable as Variable  # noqa: F401
from thalweg.contrib import eager_metrics as metrics  # noqa: F401
from thalweg.control.differentiation import GradientTape  # noqa: F401
from thalweg.control.type_specs import TensorSpec  # noqa: F401
from thalweg.data.iterators import EagerIterator as Iterator  # noqa: F401
from thalweg.eager.gradient_functions import (  # noqa: F401
    gradients_function,
    implicit_grad as implicit_gradients,
    implicit_val_and_grad as implicit_value_and_gradients,
    val_and_grad_function as value_and_gradients_function,
)
from thalweg.eager.python_functions import py_function as py_func  # noqa: F401
from thalweg.operations.custom_gradients import custom_gradient  # noqa: F401
from thalweg.saving import saver
from thalweg.variables.eager import enable_eager_execution, executing_eagerly, init_scope  # noqa: F401
from thalweg.variables.graph_functions import defun, function  # noqa: F401
from thalweg.variables.templates import make_template  # noqa: F401
from thalweg.variables.variable_scopes import EagerVariableStore  # noqa: F401


class Saver:
    """Writes variables that have their values to checkpoint files, and sets them to what is there."""

    def __init__(self, var_list: object) -> None:
        self._saver = saver.Saver(var_list)

    def save(self, file_prefix: str, global_step: object = None) -> str:
        """Writes them; gives the path."""
        return self._saver.save(None, file_prefix, write_meta_graph=False, global_step=global_step)

    def restore(self, file_prefix: str) -> None:
        """Sets them."""
        self._saver.restore(None, file_prefix)


def get_optimizer_variables(optimizer: object) -> list[object]:
    """The optimizer's own variables."""
    return optimizer.variables()


SYNC, ASYNC = 0, 1
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT, DEVICE_PLACEMENT_SILENT_FOR_INT32 = range(4)

names.complete(globals())
