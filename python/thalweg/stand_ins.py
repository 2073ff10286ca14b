# SPDX-License-Identifier: Apache-2.0
"""Modules of TensorFlow 1.15 by their import paths: what `import tensorflow.python.ops.array_ops` gives under as_tensorflow.

The private folders of TensorFlow spread its public names over many modules. A stand-in looks a name up in the modules that
_SOURCES names for its path, then in the public namespaces.
"""
import importlib
import sys
import types

import thalweg
from thalweg import names

# The path below tensorflow, and where its names live; the longest prefix counts. "" is the package itself.
_SOURCES = {
    "core": "messages", "python": "", "python.client.session": "session", "python.client.device_lib": "device_lib",
    "python.framework.constant_op": "ops", "python.framework.dtypes": "dtypes", "python.framework.errors": "errors",
    "python.framework.errors_impl": "errors", "python.framework.function": "functions",
    "python.framework.graph_util": "graph_util", "python.framework.importer": "graph",
    "python.framework.meta_graph": "meta_graph", "python.framework.ops": "graph tensor ops stand_ins private_names",
    "python.framework.random_seed": "graph", "python.framework.sparse_tensor": "sparse",
    "python.framework.tensor_shape": "shapes", "python.framework.tensor_util": "tensor_util messages",
    "python.framework.test_util": "test", "python.layers": "layers layers_convolution layers_normalization layers_pooling layer_utils", "python.lib.io.file_io": "file_io gfile",
    "python.lib.io.tf_record": "python_io", "python.layers.base": "layer_base layers",
    "python.layers.utils": "layer_utils", "python.keras": "keras", "python.keras.engine": "layer_base keras",
    "python.ops.array_ops": "array_ops", "python.ops.check_ops": "checks", "python.ops.clip_ops": "gradient_ops",
    "python.ops.control_flow_ops": "control_flow", "python.ops.control_flow_util": "stand_ins",
    "python.ops.critical_section_ops": "critical_section", "python.ops.data_flow_ops": "data_flow_ops",
    "python.ops.functional_ops": "function_calls functional_ops", "python.ops.gradients": "gradient_ops", "python.ops.gradients_impl": "gradient_ops", "python.ops.image_ops": "image",
    "python.ops.init_ops": "init_ops", "python.ops.linalg_ops": "linalg", "python.ops.logging_ops": "logging_ops summary",
    "python.ops.lookup_ops": "lookup", "python.ops.losses": "losses", "python.ops.math_ops": "math_ops math",
    "python.ops.metrics": "metrics", "python.ops.metrics_impl": "metrics metric_variables", "python.ops.nn": "nn",
    "python.ops.nn_impl": "nn", "python.ops.nn_ops": "nn", "python.ops.random_ops": "random_ops random",
    "python.ops.rnn": "rnn nn", "python.ops.rnn_cell": "rnn_cell", "python.ops.rnn_cell_impl": "rnn_cell",
    "python.ops.state_ops": "variables", "python.ops.tensor_array_ops": "tensor_array",
    "python.ops.variable_scope": "variable_scopes partitioners variables", "python.ops.variables": "variables",
    "python.ops.partitioned_variables": "partitioners", "python.ops.distributions": "distributions",
    "python.ops.confusion_matrix": "confusion_matrix", "python.ops.weights_broadcast_ops": "metric_variables",
    "python.platform": "stand_ins", "python.platform.app": "app", "python.platform.flags": "flags", "python.platform.gfile": "gfile",
    "python.platform.test": "test", "python.platform.googletest": "test", "python.platform.tf_logging": "logging",
    "python.pywrap_tensorflow": "train stand_ins", "python.saved_model": "saved_model", "python.summary": "summary",
    "python.tf2": "stand_ins", "python.training": "train", "python.training.moving_averages": "moving_averages train",
    "python.training.optimizer": "train", "python.training.saver": "saver", "python.training.saving.saveable_object": "saveables", "python.training.learning_rate_decay": "learning_rates",
    "python.util": "stand_ins", "python.util.compat": "compat", "python.util.nest": "nest", "python.eager": "stand_ins",
    "python.eager.context": "stand_ins",
}
# Names that libraries look up when they are loaded and that are missing: what is said when they are used.
_LATER = {
    "python.training.evaluation": "_StopAfterNEvalsHook _evaluate_once _get_or_create_eval_step",
}
_FOLDERS = [f"tensorflow.python.{folder}" for folder in "framework ops training util".split()]
_PUBLIC = ("nn math linalg train losses metrics layers image summary io strings sparse random debugging errors gfile logging test "
           "saved_model app compat messages partitioners").split()
# Folders that are the public modules of the same path.
_SAME = ("contrib", "compat", "keras", "estimator")


class StandIn(types.ModuleType):
    """A module of TensorFlow."""

    def __init__(self, fullname, sources):
        super().__init__(fullname, f"{fullname}, as Thalweg has it.")
        self.__dict__["__path__"] = []
        self.__dict__["_sources"] = sources

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        child = f"{self.__name__}.{name}"
        if exists(child):  # a module, also where a function of it has the same name
            return importlib.import_module(child)
        value = _found(self._sources, name)
        if value is _MISSING:  # TensorFlow's modules have each other by name
            for folder in (self.__name__.rpartition(".")[0], *_FOLDERS):
                if exists(f"{folder}.{name}"):
                    return importlib.import_module(f"{folder}.{name}")
        if value is _MISSING and name in _LATER.get(self.__name__.removeprefix("tensorflow."), "").split():
            value = _later(child)
        if value is _MISSING:
            raise names.NotYetImplementedError(f"{child} of TensorFlow 1.15 is not implemented in Thalweg")
        setattr(self, name, value)
        return value


_MISSING = object()


def _later(path):
    """A class that says what is missing when somebody makes one."""
    def refuse(cls, *args, **kwargs):
        raise NotImplementedError(f"{path} of TensorFlow 1.15 is not implemented in Thalweg")
    return type(path.rpartition(".")[2], (), {"__new__": refuse})


def _found(sources, name):
    if not name.startswith("_") and not sources:
        sources = [""]
    for source in [*sources, "", *_PUBLIC]:
        try:
            home = importlib.import_module("thalweg." + source if source else "thalweg")
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("thalweg."):
                raise
            continue
        try:
            value = getattr(home, name)
        except AttributeError:
            continue
        # "variables" of tensorflow.python.ops is a module of TensorFlow's, not ours.
        if not isinstance(value, types.ModuleType) or source == "" and name in thalweg._MODULES:
            return value
    return _MISSING


def exists(fullname):
    """Whether TensorFlow 1.15 has this module."""
    from thalweg import _modules_v1
    path = fullname.removeprefix("tensorflow.").replace(".", "/")
    folder, _, name = path.rpartition("/")
    return path in _modules_v1.MODULES or name in _modules_v1.MODULES.get(folder, "").split()


def _public(path):
    """thalweg.X.Y of X.Y, or None."""
    try:
        return importlib.import_module("thalweg." + path)
    except ModuleNotFoundError as error:
        if not f"thalweg.{path}.".startswith(f"{error.name}."):
            raise
    value = thalweg
    for part in path.split("."):
        value = None if isinstance(value, StandIn) else getattr(value, part, None)
    return value if isinstance(value, types.ModuleType) else None


def module(fullname):
    """The module that stands in for `fullname`; None when TensorFlow 1.15 has none of that name."""
    if fullname == "tensorflow":
        return thalweg
    path = fullname.removeprefix("tensorflow.")
    if path == "compat.v1" or path.startswith("compat.v1."):
        return thalweg if path == "compat.v1" else module("tensorflow." + path.removeprefix("compat.v1."))
    from thalweg import _api_v1
    first = path.split(".")[0]
    if first in _SAME or _api_v1.KINDS.get("tf." + first) == "module":
        found = _public(path)
        if found is not None:
            return found
    if path in ("python", "core", "contrib") or exists(fullname):
        return StandIn(fullname, _sources(path))
    return None


def _sources(path):
    if path.startswith("contrib."):  # contrib.layers.python.layers.initializers: what contrib.layers has
        return ["contrib." + path.split(".")[1]]
    while path not in _SOURCES:
        path = path.rpartition(".")[0]
    return _SOURCES[path].split()


# ---- small pieces that only TensorFlow's private modules have ----
def make_all(module_name, doc_string_modules=None):
    """The public names of a module."""
    return [n for n in dir(sys.modules[module_name]) if not n.startswith("_")]


def remove_undocumented(module_name, allowed_exception_list=None, doc_string_modules=None):
    """TensorFlow tidies up its own modules with it."""


def _unchanged(*args, **kwargs):
    return lambda function: function


deprecated = deprecated_args = deprecated_arg_values = deprecated_endpoints = tf_export = keras_export = _unchanged


def deprecated_argument_lookup(new_name, new_value, old_name, old_value):
    """The value of an argument that was renamed."""
    if old_value is not None:
        if new_value is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
        return old_value
    return new_value


def enabled():
    """Whether this is TensorFlow 2."""
    return False


def executing_eagerly():
    return False


def in_eager_mode():
    return False


def in_graph_mode():
    return True


def enclosing_tpu_context():
    return None


def GraphOrParentsInXlaContext(graph):  # noqa: N802
    return False


def IsInXLAContext(op):  # noqa: N802
    return False


def _get_graph_from_inputs(op_input_list, graph=None):
    for item in op_input_list:
        if graph is None and hasattr(item, "graph"):
            graph = item.graph
    return thalweg.get_default_graph() if graph is None else graph


def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """Values of a class become tensors by `conversion_func`."""
    base_type._as_tensor = lambda self: conversion_func(self)


def prepend_name_scope(name, import_scope):
    return f"{import_scope}/{name}" if import_scope else name


def strip_name_scope(name, export_scope):
    return name.removeprefix(f"{export_scope}/") if export_scope else name


def __getattr__(name):
    """Python's own modules and functions that TensorFlow wraps."""
    if name in ("getargspec", "getfullargspec", "getcallargs", "getmodule", "getsource", "getdoc", "isclass", "isfunction",
                "ismethod", "ismodule", "signature", "stack", "currentframe", "getmro", "getmembers", "getfile", "isgenerator",
                "isroutine"):
        import inspect
        return getattr(inspect, "getfullargspec" if name == "getargspec" else name)
    if name == "contextmanager":
        import contextlib
        return contextlib.contextmanager
    if name == "make_decorator":
        return lambda target, decorator_func, *args, **kwargs: _decorated(target, decorator_func)
    if name == "unwrap":
        import inspect
        return lambda function: ([], inspect.unwrap(function))
    raise AttributeError(name)


def _decorated(target, decorator):
    import functools
    return functools.update_wrapper(decorator, target)
