# SPDX-License-Identifier: Apache-2.0
"""tw.compat.v2: the names of TensorFlow 2 that 1.15 has, over the same graphs, for libraries that run under both releases.

What both call alike is the function of the package. Where the arguments differ, a function of TensorFlow 2's arguments calls
it; what cannot be said by renaming and reordering arguments is written out here, or says when it is used that it is missing.
The table of differences, `_compat_v2.py`, is made at build time from tools/tf_facts/compat_v2.json.
"""
from __future__ import annotations

import ast
import inspect
import types
from typing import TYPE_CHECKING

import thalweg as v1
from thalweg import _compat_v2, dtypes
from thalweg.base import later
from thalweg.image import resampling
from thalweg.summary import recorded, writers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from thalweg.base.typing import DTypeLike, IntLike, Nested, TensorLike
    from thalweg.graph.tensor import Tensor

# What arguments of TensorFlow 2 are called in 1.
_OTHER_NAMES = {"input": "value tensor input_tensor", "filters": "filter kernel", "dilations": "dilation_rate rates",
                "keepdims": "keep_dims", "message": "msg", "axis": "dim",
                "device_name": "device_name_or_function"}
# Those that mean something else in TensorFlow 2, or give something else.
_UNLIKE = frozenset("""nn.ctc_loss nn.convolution nn.erosion2d nn.fractional_avg_pool
nn.fractional_max_pool nn.pool saved_model.load strings.split summary.audio summary.histogram summary.image summary.scalar summary.text
test.compute_gradient""".split())
# Modules that are Keras's in TensorFlow 2.
_OF_KERAS = frozenset(["initializers", "losses", "metrics", "optimizers"])


class _Variables(type(v1.Variable)):
    """Variables of TensorFlow 2 are resources; their class holds all variables."""

    def __call__(cls, initial_value=None, trainable=None, validate_shape=True, caching_device=None, name=None, variable_def=None,
                 dtype=None, import_scope=None, constraint=None, synchronization=v1.VariableSynchronization.AUTO,
                 aggregation=v1.VariableAggregation.NONE, shape=None):
        return v1.Variable(initial_value, trainable=trainable, validate_shape=validate_shape, caching_device=caching_device,
                           name=name, variable_def=variable_def, dtype=dtype, import_scope=import_scope, constraint=constraint,
                           use_resource=True, synchronization=synchronization, aggregation=aggregation, shape=shape)

    def __instancecheck__(cls, value):
        return isinstance(value, v1.Variable)


class Variable(metaclass=_Variables):
    """Variable(initial_value): one that is a resource."""


def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Elements of x where the condition holds, else of y, all of one shape; without them, the places where it holds."""
    if x is None and y is None:
        return v1.where(condition, name=name)
    return v1.where_v2(condition, x, y, name=name)


def while_loop(cond: Callable[..., object], body: Callable[..., object], loop_vars: Nested, shape_invariants: object = None,
               parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
               maximum_iterations: IntLike | None = None, name: str | None = None) -> Any:
    """As in TensorFlow 1; the result is nested as loop_vars are, also where that is one value."""
    return v1.while_loop(cond, body, loop_vars, shape_invariants=shape_invariants, parallel_iterations=parallel_iterations,
                         back_prop=back_prop, swap_memory=swap_memory, name=name, maximum_iterations=maximum_iterations,
                         return_same_structure=True)


def argmax(input: TensorLike, axis: int | None = None, output_type: DTypeLike = dtypes.int64, name: str | None = None) -> Tensor:
    """The place of the greatest element along an axis, the first by default."""
    return v1.argmax(input, axis=0 if axis is None else axis, output_type=output_type, name=name)


def argmin(input: TensorLike, axis: int | None = None, output_type: DTypeLike = dtypes.int64, name: str | None = None) -> Tensor:
    """The place of the least element along an axis, the first by default."""
    return v1.argmin(input, axis=0 if axis is None else axis, output_type=output_type, name=name)


def softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """The cross entropy of classes, with gradients for the labels too."""
    return v1.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=axis, name=name)


def embedding_lookup(params: Mapping[str, object], ids: TensorLike, max_norm: float | None = None,
                     name: str | None = None) -> Tensor:
    """Rows of a table, which may be in several parts of neighboring rows."""
    return v1.nn.embedding_lookup(params, ids, partition_strategy="div", name=name, max_norm=max_norm)


def _experimental():
    """tf.compat.v2.summary.experimental."""
    made = types.ModuleType("thalweg.compat.v2.summary.experimental", "The step of summaries, their scopes, whole messages.")
    made.__dict__.update(get_step=writers.get_step, set_step=writers.set_step, summary_scope=recorded.summary_scope,
                         write_raw_pb=recorded.write_raw_pb)
    return made


_OWN = {"Variable": Variable, "where": where, "while_loop": while_loop, "argmax": argmax, "argmin": argmin, "math.argmax": argmax,
        "math.argmin": argmin, "nn.softmax_cross_entropy_with_logits": softmax_cross_entropy_with_logits,
        "nn.embedding_lookup": embedding_lookup,
        **{f"image.{name}": getattr(resampling, name) for name in ("ResizeMethod", "crop_and_resize", "extract_glimpse", "resize",
                                                                   "resize_with_pad")},
        **{f"summary.{name}": getattr(recorded, name) for name in ("audio", "histogram", "image", "scalar", "text", "write")},
        **{f"summary.{name}": getattr(writers, name) for name in ("SummaryWriter", "create_file_writer", "create_noop_writer", "flush",
                                                                  "import_event", "record_if", "should_record_summaries", "trace_export",
                                                                  "trace_off", "trace_on")},
        "summary.experimental": _experimental()}


def _default(text):
    """A default as the table writes it; the package's own where that is no plain value."""
    if text.startswith("tf."):
        return getattr(dtypes, text.removeprefix("tf."))
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None


def _signature(arguments):
    parameters = []
    for argument in arguments:
        name, equals, default = argument.partition("=")
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                            default=_default(default) if equals else inspect.Parameter.empty))
    return inspect.Signature(parameters)


def _with_arguments(path, function, arguments):
    """A function of TensorFlow 2's arguments that calls that of TensorFlow 1."""
    known = inspect.signature(function).parameters
    signature, first = _signature(arguments), {}
    for name, parameter in signature.parameters.items():
        found = [n for n in [name, *_OTHER_NAMES.get(name, "").split()] if n in known]
        if parameter.default is parameter.empty:  # TensorFlow 1 has some of the newer names as well, which may be left out
            found.sort(key=lambda n: known[n].default is not parameter.empty)
        first[name] = found[0] if found else None
    if first.get("name") is None:
        first.pop("name", None)  # the name of the result is lost
    if path in _UNLIKE or None in first.values():
        return later.stand_in("tf.compat.v2." + path, "function")
    # Defaults that are others than in TensorFlow 1 have to be said.
    said = {first[n]: p.default for n, p in signature.parameters.items() if n in first
            and p.default not in (None, inspect.Parameter.empty) and p.default != known[first[n]].default}

    def called(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        return function(**{**said, **{first[n]: value for n, value in given.items() if n in first}})
    called.__name__ = called.__qualname__ = path.rpartition(".")[2]
    called.__doc__, called.__signature__ = function.__doc__, signature
    return called


class _Namespace(types.ModuleType):
    """tf.compat.v2 or a module of it, over the module of TensorFlow 1."""

    def __init__(self, path, first):
        super().__init__("thalweg.compat.v2" + (f".{path}" if path else ""), "Names of TensorFlow 2.")
        self.__dict__.update(_path=path, _first=first, __path__=[])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._path}.{name}" if self._path else name
        value = self._find(path, name)
        setattr(self, name, value)
        return value

    def _find(self, path, name):
        if path in _OWN:
            return _OWN[path]
        if path in _OF_KERAS:
            return getattr(v1.keras, name)
        if path == "random.set_seed":
            return v1.set_random_seed
        if path in _compat_v2.DROPPED:
            raise AttributeError(f"module 'tensorflow.compat.v2' has no attribute {path!r}: TensorFlow 2 has dropped it")
        value = getattr(self._first, name)
        if path in _compat_v2.CHANGED:
            return _with_arguments(path, value, _compat_v2.CHANGED[path].split("\t"))
        if isinstance(value, types.ModuleType) and not self._path and name not in ("keras", "compat", "raw_ops"):
            return _Namespace(path, value)
        return value

    def __dir__(self):
        own = [path.rpartition(".")[2] for path in _OWN if path.rpartition(".")[0] == self._path]
        prefix = self._path + "." if self._path else ""
        return sorted({*own, *(n for n in dir(self._first) if prefix + n not in _compat_v2.DROPPED)})


v2 = _Namespace("", v1)
