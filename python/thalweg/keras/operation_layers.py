# SPDX-License-Identifier: Apache-2.0
"""Functions of TensorFlow between the layers of a functional model: each of their operations becomes a layer, TensorFlowOpLayer."""
from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

import numpy as np

import thalweg
from thalweg import dtypes, messages
from thalweg.graph.graph import Graph
from thalweg.graph.graph_import import import_graph_def
from thalweg.graph.op_definitions import definition_of
from thalweg.graph.tensor import Tensor
from thalweg.graph.tensor_util import constant_value
from thalweg.keras import graph_backend, json_messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_PREFIX = "tf_op_layer_"
_LOOPS = frozenset(("Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"))


def _kept(graph):
    """{(number of an operation, number of an output): the tensor that a layer has made}: a graph makes an object of a tensor each time it
    is asked for it, and only that which the layer has given knows the layer."""
    return graph.__dict__.setdefault("_keras_tensors", {})


def keep(tensors: Sequence[Any]) -> None:
    """Lets the graph know tensors that layers have made."""
    for tensor in tensors:
        if isinstance(tensor, Tensor):
            _kept(tensor.graph)[tensor.op._id, tensor.value_index] = tensor


def _of_layer(tensor):
    """The same tensor as a layer has given it; None where none has."""
    return tensor if hasattr(tensor, "_keras_history") else _kept(tensor.graph).get((tensor.op._id, tensor.value_index))


def _comes_of_input(tensor):
    """Whether a layer's output leads to a tensor."""
    without = tensor.graph.__dict__.setdefault("_keras_strangers", set())  # numbers of operations that no layer leads to
    pending, seen = [tensor], set()
    while pending:
        one = pending.pop()
        if _of_layer(one) is not None:
            return True
        if one.op._id not in seen and one.op._id not in without:
            seen.add(one.op._id)
            pending += one.op.inputs
    without |= seen
    return False


def wrapped(value: Any) -> Any:
    """A structure of tensors as layers have made them, with layers of the operations between these and what no layer has made.

    What does not come of a layer is itself, and a constant to those operations, of the value that it has now.

    Raises
    ------
    NotImplementedError
        If a loop or a condition lies between: a Lambda holds it.
    """
    if isinstance(value, dict):
        return {key: wrapped(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [wrapped(item) for item in value]
    if not isinstance(value, Tensor) or hasattr(value, "_keras_history") or not _kept(value.graph) or not _comes_of_input(value):
        return value
    for op in _operations(value):
        _wrap_operation(op)
    return _of_layer(value)


def _operations(tensor):
    """The operations without a layer that lead to a tensor, each behind those that it takes from."""
    ordered, entered, pending = [], set(), [(tensor.op, False)]
    if _of_layer(tensor) is not None:
        return ordered
    while pending:
        op, is_left = pending.pop()
        if is_left:
            ordered.append(op)
        elif op._id not in entered:
            entered.add(op._id)
            if op.type in _LOOPS:
                raise NotImplementedError(f"{op.name} is part of a loop or a condition, between the layers of a functional model: a "
                                          "tf.keras.layers.Lambda holds it")
            pending.append((op, True))
            pending += [(t.op, False) for t in op.inputs if _of_layer(t) is None and _comes_of_input(t)]
    return ordered


def _wrap_operation(op):
    inputs, constants, unknown = [], {}, {}
    for index, tensor in enumerate(op.inputs):
        if _comes_of_input(tensor):
            inputs.append(_of_layer(tensor))
            continue
        found = constant_value(tensor)
        (unknown if found is None else constants)[index] = tensor if found is None else found
    if unknown:
        constants.update(zip(unknown, graph_backend.get_session().run(list(unknown.values()))))
    layer = operation_layer()(op.node_def, op.name, constants=constants)
    outputs = list(op.outputs)
    layer._add_inbound_node(inputs, outputs, [None] * len(inputs), [None] * len(outputs),
                            [_shape_of(t) for t in inputs], [_shape_of(t) for t in outputs])


def _shape_of(tensor: Tensor) -> tuple[int | None, ...] | None:
    """The shape of a tensor as Keras has it."""
    known = getattr(tensor, "_keras_shape", None)
    return known if known is not None or tensor.shape.ndims is None else tuple(tensor.shape.as_list())


def _input_types(node):
    """The types of the inputs of a NodeDef, one by one."""
    found = []
    for argument in definition_of(node.op).input_arg:
        if argument.type_list_attr:
            found += node.attr[argument.type_list_attr].list.type
        else:
            kind = node.attr[argument.type_attr].type if argument.type_attr else argument.type
            found += [kind] * (node.attr[argument.number_attr].i if argument.number_attr else 1)
    return [dtypes.as_dtype(kind) for kind in found]


def _repeated(node, inputs, outputs) -> list[Tensor]:
    """The outputs of the operation of a NodeDef, anew, on these inputs."""
    whole = messages.GraphDef()
    whole.node.add().CopyFrom(node)
    del whole.node[0].input[:]
    given = {}
    for index, (tensor, dtype) in enumerate(zip(inputs, _input_types(node))):
        name = f"operation_layer_input_{index}"
        placeholder = whole.node.add(name=name, op="Placeholder")
        placeholder.attr["dtype"].type = dtype.as_datatype_enum
        whole.node[0].input.append(name)
        given[name] = thalweg.constant(tensor, dtype=dtype) if not isinstance(tensor, Tensor) else tensor
    return import_graph_def(whole, input_map=given, return_elements=[f"{node.name}:{n}" for n in range(outputs)], name="")


def _library(path):
    """A module of the package."""
    return importlib.import_module("thalweg.keras.library." + path)


@functools.cache
def operation_layer() -> type:
    """The class TensorFlowOpLayer, whose base is in the package."""
    Layer = _library("engine.base_layer").Layer

    class TensorFlowOpLayer(Layer):
        """An operation as a layer.

        Parameters
        ----------
        node_def : NodeDef, or the dictionary or the bytes of one
        name : str
            That of the operation; the layer's begins with tf_op_layer_.
        constants : dict, optional
            {number of an input: its value}: the inputs that no layer computes.
        """

        def __init__(self, node_def: Any, name: str, constants: Mapping[int | str, Any] | None = None, trainable: bool = True,
                     dtype: object = None) -> None:
            super().__init__(name=_PREFIX + name, trainable=trainable, dtype=dtype)
            if isinstance(node_def, dict):
                node_def = json_messages.from_dictionary(messages.NodeDef(), node_def)
            elif isinstance(node_def, (bytes, str)):
                node_def = messages.NodeDef.FromString(node_def.encode() if isinstance(node_def, str) else node_def)
            self._node = node_def
            self.constants = {int(index): value for index, value in (constants or {}).items()}
            self.built = True

        def call(self, inputs: Any) -> Any:
            """The operation on these inputs, with the constants in their places."""
            given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
            for index in sorted(self.constants):
                given.insert(index, self.constants[index])
            outputs = _repeated(self._node, given, self._count())
            return outputs[0] if len(outputs) == 1 else outputs

        def _count(self):
            count = 0
            for argument in definition_of(self._node.op).output_arg:
                if argument.type_list_attr:
                    count += len(self._node.attr[argument.type_list_attr].list.type)
                else:
                    count += self._node.attr[argument.number_attr].i if argument.number_attr else 1
            return count

        def compute_output_shape(self, input_shape: Any) -> Any:
            """What a graph of its own says of inputs of these shapes."""
            shapes = input_shape if isinstance(input_shape, list) else [input_shape]
            types = [dtype for index, dtype in enumerate(_input_types(self._node)) if index not in self.constants]
            with Graph().as_default():
                made = self.call([thalweg.placeholder(dtype, shape=shape) for dtype, shape in zip(types, shapes)])
                found = [_shape_of(tensor) for tensor in (made if isinstance(made, list) else [made])]
            return found if len(found) > 1 else found[0]

        def get_config(self) -> dict[str, Any]:
            """What makes such a layer again."""
            return {**super().get_config(), "name": self.name[len(_PREFIX):], "node_def": json_messages.to_dictionary(self._node),
                    "constants": {index: np.asarray(value).tolist() for index, value in self.constants.items()}}

    TensorFlowOpLayer.__module__ = "thalweg.keras.layers"
    TensorFlowOpLayer.__qualname__ = "TensorFlowOpLayer"
    return TensorFlowOpLayer
