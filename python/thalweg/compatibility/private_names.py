# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow's private modules that libraries of its time use (tensorflow.python.framework.ops and others)."""
from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING

from thalweg import messages, nest
from thalweg.eager.tensor import EagerTensor  # noqa: F401
from thalweg.graph import graph, tensor
from thalweg.graph.graph_import import import_graph_def
from thalweg.graph.op_definitions import all_definitions
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops, custom_gradients, gradient_ops
from thalweg.ragged.ragged_tensor import RaggedTensor
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Callable


class _AnyOf(type):
    """isinstance asks for one of the classes that `_kinds` gives."""

    def __instancecheck__(cls, value):
        return isinstance(value, cls._kinds())


class _TensorLike(metaclass=_AnyOf):
    """Tensors of every sort."""

    @staticmethod
    def _kinds():
        return tensor.Tensor, tensor.IndexedSlices, SparseTensor, RaggedTensor, variables.Variable


def is_dense_tensor_like(t: object) -> bool:
    """Whether a value is a tensor, or a variable that is one where it is used."""
    return isinstance(t, (tensor.Tensor, variables.Variable))


def _as_graph_element(obj):
    """The tensor of a variable; None of what is none."""
    convert = getattr(obj, "_as_graph_element", None)
    return convert() if convert is not None else obj if isinstance(obj, (tensor.Tensor, tensor.Operation)) else None


class CompositeTensor(metaclass=_AnyOf):
    """Tensors that are made of several."""

    @staticmethod
    def _kinds():
        return tensor.IndexedSlices, SparseTensor, RaggedTensor


def get_gradient_function(op: tensor.Operation) -> Callable[..., object] | None:
    """The function of the operation and the gradients of its outputs that gives those of its inputs. None: it has none."""
    if not op.inputs:
        return None
    name = op.graph.__dict__.get("_overridden", {}).get(op._id, op.type)
    if name in custom_gradients._registered:
        return custom_gradients._registered[name]

    def gradient(op, *grads):
        inputs, outputs = list(op.inputs), list(op.outputs)
        if len(set(inputs)) < len(inputs):  # one tensor in two places, which have a gradient each
            inputs, outputs = _apart(op)
        return gradient_ops.gradients(outputs, inputs, list(grads), stop_gradients=inputs)
    return gradient


def _apart(op):
    """(inputs, outputs) of a copy of an operation in which no tensor stands in two places."""
    inputs = [array_ops.identity(i) for i in op.inputs]
    node = messages.NodeDef.FromString(op.node_def.SerializeToString())
    node.name, node.device = "copy", ""
    del node.input[:]
    node.input.extend(f"input_{n}" for n in range(len(inputs)))
    node.attr.pop("_class", None)
    given = {f"input_{n}:0": value for n, value in enumerate(inputs)}
    return inputs, import_graph_def(messages.GraphDef(node=[node]), given, [f"copy:{n}" for n in range(len(op.outputs))])


class _GradientRegistry:
    """The gradients that programs have registered, as TensorFlow keeps them: {operation: {"type": function}}."""

    @property
    def _registry(self):
        return _Entries()

    @_registry.setter
    def _registry(self, entries):
        kept = {name: entry["type"] for name, entry in entries.items()}
        custom_gradients._registered.clear()
        custom_gradients._registered.update(kept)

    def list(self):
        """The names of those operations."""
        return list(self._registry)

    def lookup(self, name):
        """The function of an operation."""
        if name not in self._registry:
            raise LookupError(f"gradient registry has no entry for: {name}")
        return self._registry[name]["type"]


class _Entries(collections.abc.MutableMapping):
    """custom_gradients' functions as entries of a registry."""

    def __getitem__(self, name):
        return {"type": custom_gradients._registered[name]}

    def __setitem__(self, name, entry):
        custom_gradients._registered[name] = entry["type"]

    def __delitem__(self, name):
        del custom_gradients._registered[name]

    def __iter__(self):
        return iter(list(custom_gradients._registered))

    def __len__(self):
        return len(custom_gradients._registered)

    def __copy__(self):
        return dict(self)


_gradient_registry = _GradientRegistry()


def is_resource_variable(var: object) -> bool:
    """Whether a variable is a resource."""
    return isinstance(var, variables.Variable) and var._resource


class _Resources(type(variables.Variable)):
    """isinstance asks whether a variable is a resource, whoever made it."""

    def __instancecheck__(cls, value):
        return super().__instancecheck__(value) or cls is ResourceVariable and is_resource_variable(value)

    def __call__(cls, *args, **kwargs):
        if cls is not ResourceVariable or not variables.are_made_at_once():
            return super().__call__(*args, **kwargs)
        given = dict(zip(_RESOURCE_ARGUMENTS, args), **kwargs)
        given.pop("distribute_strategy", None)
        return variables.Variable(**given)


_RESOURCE_ARGUMENTS = ("initial_value trainable collections validate_shape caching_device name dtype variable_def import_scope constraint "
                       "distribute_strategy synchronization aggregation shape").split()


class ResourceVariable(variables.Variable, metaclass=_Resources):
    """A variable that is a resource: libraries derive from it."""

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None,
                 dtype=None, variable_def=None, import_scope=None, constraint=None, distribute_strategy=None,
                 synchronization=variables.VariableSynchronization.AUTO, aggregation=variables.VariableAggregation.NONE, shape=None):
        super().__init__(initial_value, trainable, collections, validate_shape, caching_device, name, variable_def, dtype, None,
                         import_scope, constraint, True, synchronization, aggregation, shape)


def get_registered_ops() -> dict[str, messages.OpDef]:
    """The OpDef of every operation by its name: tensorflow.python.framework.op_def_registry."""
    return {op.name: op for op in all_definitions()}


def register_op_list(op_list: messages.OpList) -> None:
    """Operations that the process knows already; others are refused."""
    known = get_registered_ops()
    for op in op_list.op:
        if op.name not in known:
            raise ValueError(f"Thalweg has no operation {op.name!r}: tf.load_op_library loads new ones")


def _zero_state_tensors(state_size, batch_size, dtype):
    """Zeros of a recurrent cell's state: each size of a structure, a number or a shape, with the batch before it."""

    def zeros(size):
        sizes = size.as_list() if isinstance(size, TensorShape) else [size]
        made = array_ops.zeros(array_ops.stack([batch_size, *sizes]) if tensor_like(batch_size) else [batch_size, *sizes], dtype)
        if tensor_like(batch_size):
            made.set_shape([None, *sizes])
        return made

    def tensor_like(value):
        return isinstance(value, (tensor.Tensor, variables.Variable))
    if isinstance(state_size, TensorShape):
        return zeros(state_size)
    return nest.map_structure(zeros, state_size)


def uid() -> int:
    """A number that this process has not used yet."""
    _uids[0] += 1
    return _uids[0]


_uids = [0]


def inside_function() -> bool:
    """Whether a function's body is being made."""
    return graph.get_default_graph()._captures is not None


def executing_eagerly_outside_functions() -> bool:
    """Whether operations outside of all function bodies run when they are made."""
    found = graph.get_default_graph()
    return (found if found._captures is None else found.outermost())._executes
