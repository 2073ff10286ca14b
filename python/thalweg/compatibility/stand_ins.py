# SPDX-License-Identifier: Apache-2.0
"""Modules of TensorFlow 1.15 by their import paths: what `import tensorflow.python.ops.array_ops` gives under as_tensorflow.

The private folders of TensorFlow spread its public names over many modules. A stand-in looks a name up in the modules that
_SOURCES names for its path, then in the public namespaces.
"""
from __future__ import annotations

import contextlib
import faulthandler
import importlib
import inspect
import sys
import types
from typing import TYPE_CHECKING

import thalweg
from thalweg.base import later, names
from thalweg.base.renamed_arguments import deprecated_argument_lookup  # noqa: F401  (as the line below)
from thalweg.graph.graph import prepend_name_scope, strip_name_scope  # noqa: F401  (TensorFlow has them among these)
from thalweg.keras import loading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from thalweg.base.typing import F, TensorLike
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.variables.variables import Variable

# The path below tensorflow, and where its names live; the longest prefix counts. "" is the package itself.
_SOURCES = {
    "core": "messages", "examples": "", "python": "", "tools": "", "python.client.session": "graph.session",
    "python.client.device_lib": "graph.device_lib", "python.framework.constant_op": "graph.ops",
    "python.framework.dtypes": "dtypes", "python.framework.errors": "errors", "python.framework.errors_impl": "errors",
    "python.framework.function": "control.functions", "python.framework.graph_util": "graph_util",
    "python.framework.importer": "graph.graph_import", "python.framework.meta_graph": "saving.meta_graph",
    "python.framework.ops": "graph.graph graph.tensor graph.ops graph.default_session "
                            "graph.graph_import compatibility.stand_ins compatibility.private_names graph.proto_functions",
    "python.framework.composite_tensor": "compatibility.private_names",
    "python.framework.op_def_registry": "compatibility.private_names", "python.framework.type_spec": "control.type_specs",
    "python.estimator": "estimator estimator.estimator estimator.training estimator.spec estimator.run_config estimator.export "
                        "estimator.exporters estimator.inputs estimator.keys estimator.older_heads estimator.heads "
                        "estimator.model_pieces estimator.dnn estimator.linear estimator.dnn_linear_combined estimator.baseline "
                        "estimator.example_specs estimator.export_outputs",
    "python.feature_column": "feature_column feature_column.column feature_column.numeric feature_column.categorical "
                             "feature_column.crossed feature_column.embedding feature_column.sequences "
                             "feature_column.layer_of_columns feature_column.linear",
    "python.autograph": "compatibility.autograph_names contrib.autograph", "python.client.timeline": "graph.timeline",
    "python.ops.op_selector": "contrib.graph_editor", "python.training.monitored_session": "training.monitored_session",
    "python.training.basic_session_run_hooks": "training.basic_session_run_hooks",
    "python.framework.random_seed": "graph.graph", "python.framework.sparse_tensor": "graph.sparse_tensor sparse",
    "python.framework.tensor_shape": "graph.shapes", "python.framework.tensor_util": "graph.tensor_util messages",
    "python.framework.test_util": "test compatibility.eager_tests compatibility.stand_ins",
    "python.layers": "layers layers.convolution layers.normalization layers.pooling", "python.lib.io.file_io": "file_io gfile",
    "python.lib.io.tf_record": "python_io", "python.layers.base": "variables.layer layers",
    "python.layers.utils": "layers control.control_flow graph.tensor_util", "python.keras": "keras",
    "python.keras.optimizer_v2": "keras.optimizers keras.optimizer_base keras.schedules",
    "python.keras.utils": "keras compatibility.stand_ins", "python.keras.engine": "variables.layer keras",
    "python.ops.ragged": "ragged", "python.ops.ragged.ragged_tensor": "ragged.ragged_tensor ragged.specs ragged.ragged_tensor_value",
    "python.ops.array_ops": "operations.array_ops", "python.ops.check_ops": "operations.checks",
    "python.ops.clip_ops": "operations.gradient_ops", "python.ops.control_flow_ops": "control.control_flow operations.checks",
    "python.ops.control_flow_util": "compatibility.stand_ins", "python.ops.critical_section_ops": "control.critical_section",
    "python.ops.boosted_trees_ops": "estimator.tree_resources",
    "python.ops.data_flow_ops": "operations.data_flow_ops",
    "python.ops.functional_ops": "control.function_calls control.functional_ops",
    "python.ops.gradients": "operations.gradient_ops", "python.ops.gradients_impl": "operations.gradient_ops",
    "python.ops.image_ops": "image", "python.ops.init_ops": "variables.init_ops", "python.ops.linalg_ops": "linalg",
    "python.ops.logging_ops": "logging_ops summary", "python.ops.lookup_ops": "lookup", "python.ops.losses": "losses",
    "python.ops.math_ops": "operations.math_ops math", "python.ops.metrics": "metrics",
    "python.ops.metrics_impl": "metrics metrics.metric_variables", "python.ops.nn": "nn", "python.ops.nn_impl": "nn",
    "python.ops.nn_ops": "nn", "python.ops.random_ops": "operations.random_ops random",
    "python.ops.resource_variable_ops": "compatibility.private_names variables.variables", "python.ops.rnn": "nn.rnn nn",
    "python.ops.rnn_cell": "nn.rnn_cell compatibility.private_names",
    "python.ops.rnn_cell_impl": "nn.rnn_cell compatibility.private_names", "python.ops.state_ops": "variables.variables",
    "python.ops.tensor_array_ops": "control.tensor_array",
    "python.ops.variable_scope": "variables.variable_scopes variables.partitioners variables.variables",
    "python.ops.variables": "variables.variables variables.scattering",
    "python.ops.partitioned_variables": "variables.partitioners", "python.ops.distributions": "distributions",
    "python.ops.confusion_matrix": "confusion_matrix", "python.ops.weights_broadcast_ops": "operations.broadcast_weights",
    "python.debug": "debugger.dump_dir debugger.watches debugger.dumping debugger.command_line",
    "python.platform": "compatibility.stand_ins", "python.platform.app": "app", "python.platform.flags": "flags",
    "python.platform.gfile": "gfile", "python.platform.test": "test", "python.platform.googletest": "test",
    "python.platform.tf_logging": "logging", "python.pywrap_tensorflow": "train compatibility.stand_ins",
    "python.profiler": "profiler.model_analyzer profiler.option_builder profiler", "python.saved_model": "saved_model",
    "python.summary": "summary",
    "python.ops.summary_ops_v2": "contrib.summary summary.writers summary.recorded", "python.tf2": "compatibility.stand_ins",
    "python.training": "train", "python.training.training": "train", "python.training.moving_averages": "training.moving_averages train",
    "python.training.optimizer": "train", "python.training.saver": "saving.saver",
    "python.training.saving.saveable_object": "saving.saveables",
    "python.training.learning_rate_decay": "training.learning_rates", "python.util": "compatibility.stand_ins",
    "python.util.compat": "compat", "python.util.nest": "nest", "python.tpu": "compatibility.stand_ins",
    "python.eager": "compatibility.stand_ins compatibility.eager_context", "python.eager.context": "compatibility.eager_context variables.eager",
    "python.eager.backprop": "eager.gradient_functions control.differentiation", "python.eager.core": "errors",
    "python.eager.def_function": "variables.graph_functions", "python.eager.function": "variables.graph_functions",
    "python.eager.monitoring": "compatibility.monitoring", "python.training.tracking": "compatibility.tracking train",
    "python.eager.tape": "compatibility.eager_context", "python.eager.test": "test",
}
# Modules that have the names of another one.
_ELSEWHERE = {"contrib.slim.nets": "contrib.slim.python.slim.nets", "examples.tutorials.mnist.input_data": "contrib.learn.datasets.mnist",
              "contrib.learn.python.learn.datasets": "contrib.learn.datasets"}
_FOLDERS = [f"tensorflow.python.{folder}" for folder in "framework ops training util".split()]
_PUBLIC = ("nn math linalg train losses metrics layers image summary io strings sparse random debugging errors gfile logging test "
           "saved_model app compat messages variables.partitioners").split()
# Modules of the package tensorflow_estimator, which TensorFlow 1.15 takes tf.estimator from; their folders are those of tensorflow.python.
_OF_ESTIMATOR = frozenset(["python", "python.estimator", *(f"python.estimator.{name}" for name in (
    "early_stopping estimator estimator_lib exporter extenders gc keras mode_keys model_fn run_config training util canned canned.baseline "
    "canned.dnn canned.dnn_linear_combined canned.head canned.linear canned.metric_keys canned.optimizers canned.parsing_utils "
    "canned.prediction_keys export export.export export.export_lib export.export_output head head.base_head head.binary_class_head "
    "head.head_utils head.multi_class_head head.multi_head head.multi_label_head head.regression_head inputs inputs.inputs "
    "inputs.numpy_io inputs.pandas_io").split())])
# Folders that are the public modules of the same path.
_SAME = ("contrib", "compat", "keras", "estimator")


class StandIn(types.ModuleType):
    """A module of TensorFlow."""

    def __init__(self, fullname, sources):
        super().__init__(fullname, f"{fullname}, as Thalweg has it.")
        self.__dict__["__path__"] = []
        self.__dict__["_sources"] = sources

    def __getattr__(self, name):
        if name == "__all__":  # what a star import brings: what TensorFlow's module defines, and what is public of its namespace
            from thalweg import _modules_v1
            path = self.__name__.removeprefix("tensorflow.")
            found = set(_modules_v1.DEFINED.get(path.replace(".", "/"), "").replace("|", " ").split())
            if path in _SOURCES:
                for source in _SOURCES[path].split() or [""]:
                    found.update(getattr(importlib.import_module(f"thalweg.{source}".rstrip(".")), "__all__", ()))
            return sorted(n for n in found if not n.startswith("_") and hasattr(self, n))
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
        if value is _MISSING:
            path = "tf" + child.removeprefix("tensorflow")
            value = later.public(path) or later.public(path.replace(".python.", ".", 1)) or self._private(name) or _MISSING
            if value is not _MISSING:
                return value
        if value is _MISSING:
            raise names.NotYetImplementedError(f"{child} of TensorFlow 1.15 is not implemented in Thalweg")
        setattr(self, name, value)
        return value

    def _private(self, name):
        """What a program takes for a class or function that this module defines; of inner ones (_Name), for which libraries of
        several releases ask by hasattr, only where its text takes it."""
        return later.private(self.__name__, name) if not name.startswith("_") or later.asked_in_text(("IMPORT_FROM",)) else None


_MISSING = object()


def _found(sources, name):
    if not name.startswith("_") and not sources:
        sources = [""]
    for source in [*sources, "", *_PUBLIC]:
        if source not in (*sources, "", "messages") and later.kind(f"tf.{source}.{name}") is None and later.kind(f"tf.{name}") is None:
            continue  # a name of the namespace's own file
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
        # "variables" of tensorflow.python.ops is a module of TensorFlow's, not ours; what is missing in one place may be in another.
        if later.is_stand_in(value):
            continue
        if not isinstance(value, types.ModuleType) or source == "" and name in thalweg._MODULES:
            return value
    return _MISSING


def exists(fullname: str) -> bool:
    """Whether TensorFlow 1.15 has this module."""
    from thalweg import _modules_v1
    if fullname.startswith("tensorflow_estimator."):
        return fullname.removeprefix("tensorflow_estimator.") in _OF_ESTIMATOR
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


def module(fullname: str) -> types.ModuleType | None:
    """The module that stands in for `fullname`; None when TensorFlow 1.15 has none of that name."""
    if fullname == "tensorflow":
        return thalweg
    if fullname.startswith("tensorflow_estimator"):
        inside = fullname != "tensorflow_estimator"
        return StandIn(fullname, _sources("python.estimator") if inside else []) if not inside or exists(fullname) else None
    path = fullname.removeprefix("tensorflow.")
    if path == "compat.v1" or path.startswith("compat.v1."):
        return thalweg if path == "compat.v1" else module("tensorflow." + path.removeprefix("compat.v1."))
    for prefix, other in _ELSEWHERE.items():
        if f"{path}.".startswith(prefix + "."):
            return module(f"tensorflow.{other}{path.removeprefix(prefix)}")
    from thalweg import _api_v1
    first = path.split(".")[0]
    if first in _SAME or _api_v1.KINDS.get("tf." + first) == "module":
        found = _public(path)
        if found is not None:
            return found
    if path in ("python", "core", "contrib", "examples") or exists(fullname):
        return StandIn(fullname, _sources(path))
    return None


def _sources(path):
    if path.startswith("contrib."):  # contrib.layers.python.layers.initializers: what contrib.layers has
        _, first, *_ = parts = path.split(".")
        found = [f"contrib.{first}", *(f"contrib.{first}.{part}" for part in parts[-2:])]
        return found + (["compatibility.stand_ins"] if parts[-1] == "tpu_function" else [])
    library = []
    if path.startswith("python.keras.") and not path.startswith("python.keras.optimizer_v2") and loading.installed():
        inner = loading.place(path.removeprefix("python.keras."))
        library = [*([f"keras.library.{inner}"] if inner else []), *(["keras.graph_backend"] if inner == "backend" else [])]
    while path not in _SOURCES:
        path = path.rpartition(".")[0]
    return library + _SOURCES[path].split()


# ---- small pieces that only TensorFlow's private modules have ----
def make_all(module_name: str, doc_string_modules: Iterable[types.ModuleType] | None = None) -> list[str]:
    """The public names of a module."""
    return [n for n in dir(sys.modules[module_name]) if not n.startswith("_")]


def remove_undocumented(module_name: str, allowed_exception_list: Iterable[str] | None = None,
                        doc_string_modules: Iterable[types.ModuleType] | None = None) -> None:
    """TensorFlow tidies up its own modules with it."""


def _unchanged(*args: object, **kwargs: object) -> Callable[[F], F]:
    """A decorator that does nothing."""
    return lambda function: function


deprecated = deprecated_args = deprecated_arg_values = deprecated_endpoints = tf_export = keras_export = _unchanged


def enabled() -> bool:
    """Whether this is TensorFlow 2."""
    return False


def enclosing_tpu_context() -> None:
    """The context of a TPU around what is being made: there is none."""
    return None


class TpuContext:
    """What a program for a TPU runs in: nothing of the sort here."""

    number_of_shards = None


def get_tpu_context() -> TpuContext:
    """The context, in which there are no shards."""
    return TpuContext()


def GraphOrParentsInXlaContext(graph: Graph) -> bool:
    """Whether a graph is made for XLA: never."""
    return False


def IsInXLAContext(op: Operation) -> bool:
    """Whether an operation is made for XLA: never."""
    return False


def _get_graph_from_inputs(op_input_list: Iterable[object], graph: Graph | None = None) -> Graph:
    for item in op_input_list:
        if graph is None and hasattr(item, "graph"):
            graph = item.graph
    return thalweg.get_default_graph() if graph is None else graph


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """TensorFlow says nothing of what is deprecated meanwhile; Thalweg never does."""
    yield


def register_symbolic_tensor_type(cls_type: type) -> None:
    """Models of Keras may take values of this class: those of tf.keras take what becomes a tensor here."""


def get_reachable_from_inputs(inputs: Sequence[Tensor | Operation | Variable],
                              targets: object = None) -> set[Tensor | Operation | Variable]:
    """These tensors, operations or variables, and the tensors and operations that depend on them. `targets` tell TensorFlow where its
    walk may end early."""
    inputs = thalweg.nest.flatten(inputs)
    followers = {}
    for op in inputs[0].graph.get_operations() if inputs else ():
        for before in dict.fromkeys([*op.inputs, *op.control_inputs]):
            followers.setdefault(before, []).append(op)
    waiting = [*inputs, *(one.op for one in inputs if isinstance(one, thalweg.Variable))]
    found = set(waiting)
    while waiting:
        one = waiting.pop()
        for other in (*followers.get(one, ()), *getattr(one, "outputs", ())):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def InstallStackTraceHandler() -> None:
    """A process that is ended by a fault prints where it was."""
    faulthandler.enable()


class LazyLoader(types.ModuleType):
    """A module that is imported when something of it is asked for; from then on the caller has the module itself."""

    def __init__(self, local_name, parent_module_globals, name):
        super().__init__(name)
        self._local_name, self._scope = local_name, parent_module_globals

    def _load(self):
        loaded = importlib.import_module(self.__name__)
        self._scope[self._local_name] = loaded
        self.__dict__.update(loaded.__dict__)
        return loaded

    def __getattr__(self, name):
        return getattr(self._load(), name)

    def __dir__(self):
        return dir(self._load())


def register_tensor_conversion_function(base_type: type, conversion_func: Callable[..., TensorLike], priority: int = 100) -> None:
    """Values of a class become tensors by `conversion_func`."""
    base_type._as_tensor = lambda self: conversion_func(self)


def _getfullargspec(function):
    """inspect's, but that functions of TensorFlow's names have no annotations, as those of 1.15: libraries compare the two."""
    spec = inspect.getfullargspec(function)
    return spec._replace(annotations={}) if str(getattr(function, "__module__", "")).partition(".")[0] == "thalweg" else spec


def __getattr__(name):
    """Python's own modules and functions that TensorFlow wraps."""
    if name in ("getargspec", "getfullargspec"):
        return _getfullargspec
    if name in ("getcallargs", "getmodule", "getsource", "getdoc", "isclass", "isfunction",
                "ismethod", "ismodule", "signature", "stack", "currentframe", "getmro", "getmembers", "getfile", "isgenerator",
                "isroutine"):
        return getattr(inspect, name)
    if name == "contextmanager":
        import contextlib
        return contextlib.contextmanager
    if name == "make_decorator":
        return lambda target, decorator_func, *args, **kwargs: _decorated(target, decorator_func)
    if name == "unwrap":
        return lambda function: ([], inspect.unwrap(function))
    raise AttributeError(name)


def _decorated(target, decorator):
    import functools
    return functools.update_wrapper(decorator, target)
