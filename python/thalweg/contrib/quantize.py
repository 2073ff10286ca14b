# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.quantize: a graph that computes as if its weights and activations had eight bits.

    loss = build_model()
    tw.contrib.quantize.create_training_graph()     # before the optimizer is asked for gradients
    train = optimizer.minimize(loss)

A layer is a Conv2D, DepthwiseConv2dNative or MatMul of a variable, with its bias and its activation (Relu, Relu6 or
Identity). Its weights and what it gives go through FakeQuantWithMinMaxVars, whose ranges are variables: in training the
weights' last and the activations' averaged ones, in evaluation as they were saved. Layers with a fused batch normalization
after them, which TensorFlow folds into the weights first, are refused.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.base import names
from thalweg.control import control_flow
from thalweg.graph import graph, ops
from thalweg.operations import array_ops, math_ops
from thalweg.training import moving_averages
from thalweg.variables import init_ops, variable_scopes, variables

if TYPE_CHECKING:
    from thalweg.graph.graph import Graph

_LAYERS = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
_ACTIVATIONS = ("Relu", "Relu6", "Identity")
_SUMS = ("Add", "AddV2")
_PASSING_ON = ("Identity", "Reshape")
_DECAY = 0.999
_STEP = "fake_quantization_step"


def create_training_graph(input_graph: Graph | None = None, quant_delay: int = 0) -> None:
    """Rewrites a graph so that training sees the rounding of quantized weights and activations.

    Parameters
    ----------
    input_graph : Graph, optional
        The default graph unless given. It is changed.
    quant_delay : int
        From which step on values are quantized.

    Raises
    ------
    ValueError
        There is nothing to quantize in a way that is known here.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [1, 4, 4, 1])
    >>> y = tw.contrib.layers.conv2d(x, 2, 3)
    >>> _ = tw.train.get_or_create_global_step()
    >>> tw.contrib.quantize.create_training_graph(quant_delay=100)
    >>> any(op.type.startswith("FakeQuant") for op in tw.get_default_graph().get_operations())
    True
    """
    _rewrite(input_graph, 8, 8, False, quant_delay, True, None)


def create_eval_graph(input_graph: Graph | None = None) -> None:
    """Rewrites the graph for evaluation, with the ranges that training has saved."""
    _rewrite(input_graph, 8, 8, False, None, False, None)


def experimental_create_training_graph(input_graph: Graph | None = None, weight_bits: int = 8, activation_bits: int = 8,
                                       symmetric: bool = False, quant_delay: int = 0, freeze_bn_delay: int | None = None,
                                       scope: str | None = None) -> None:
    """The same with other numbers of bits, ranges around zero, and only for the layers under `scope`."""
    del freeze_bn_delay  # of batch normalizations that are folded
    _rewrite(input_graph, weight_bits, activation_bits, symmetric, quant_delay, True, scope)


def experimental_create_eval_graph(input_graph: Graph | None = None, weight_bits: int = 8, activation_bits: int = 8,
                                   symmetric: bool = False, quant_delay: int | None = None, scope: str | None = None) -> None:
    """The same with other numbers of bits, ranges around zero, and only for the layers under `scope`."""
    _rewrite(input_graph, weight_bits, activation_bits, symmetric, quant_delay, False, scope)


def _rewrite(input_graph, weight_bits, activation_bits, symmetric, quant_delay, is_training, scope):
    where = graph.get_default_graph() if input_graph is None else input_graph
    found = {op.type for op in where.get_operations() if op.type.startswith(("Apply", "ResourceApply", "SparseApply",
                                                                             "ResourceSparseApply"))}
    if is_training and found:
        raise ValueError(f"Training op found in graph, exiting {found}")
    with where.as_default():
        readers = _Readers(where)
        layers = _find_layers(where, readers, scope)
        rewriter = _Rewriter(where, readers, symmetric, quant_delay, is_training)
        for layer in layers:
            layer.quantize(rewriter, weight_bits, activation_bits)


class _Readers:
    """Who reads what, as the graph was before the rewriting."""

    def __init__(self, where):
        self._of = {}
        for op in where.get_operations():
            for index, tensor in enumerate(op.inputs):
                self._of.setdefault(tensor.name, []).append((op, index))

    def of(self, tensor):
        """(operation, index of its input) of each."""
        return self._of.get(tensor.name, [])

    def first(self, tensor, types):
        """The first operation of these types that reads the tensor, or None."""
        return next((op for op, _ in self.of(tensor) if op.type in types), None)


def _scope_of(name):
    return name.rpartition("/")[0]


def _weights_of(op):
    """The input of a layer's operation that is read from a variable; None when it is no layer."""
    if op.type not in _LAYERS:
        return None
    for tensor in (op.inputs[1], op.inputs[0]):
        source = tensor.op
        if source.type == "Identity" and source.inputs[0].op.type in ("Variable", "VariableV2"):
            return tensor
        if source.type == "ReadVariableOp":
            return tensor
    return op.inputs[1] if op.inputs[1].op.type == "Mul" else None


class _Layer:
    """What belongs to one layer: the operation, its weights, the value that is quantized, and where that is a sum with a
    value of another layer, what goes into it."""

    def __init__(self, op, weights):
        self.op, self.weights = op, weights
        self.given = None
        self.bypass = None      # an addition between bias and activation
        self.before_sum = None  # what this layer gives to it
        self.after = []         # sums and products of what the layer gives: (operation, "sum of an activation" or not)

    def quantize(self, rewriter, weight_bits, activation_bits):
        inside = _scope_of(self.op.name)
        rewriter.weights(self.weights, inside, weight_bits)
        around = inside if self.bypass is None else _scope_of(inside)
        rewriter.activation(self.given, around, "act_quant", activation_bits)
        if self.before_sum is not None:
            rewriter.activation(self.before_sum, inside, "conv_quant", activation_bits)
        for op, of_activation in self.after:
            if of_activation:
                rewriter.activation(op.outputs[0], _scope_of(op.name), "post_activation_bypass_quant", activation_bits)
            else:
                rewriter.activation(op.outputs[0], op.name, f"activation_{op.type}_quant", activation_bits)


def _find_layers(where, readers, scope):
    """The layers under `scope`, in order of creation."""
    taken, layers = set(), []
    for op in where.get_operations():
        weights = _weights_of(op)
        if weights is None or (scope and not op.name.startswith(scope)):
            continue
        layer = _Layer(op, weights)
        if _find_activation(layer, readers, taken):
            taken.add(layer.given.name)
            layers.append(layer)
    bypasses = {layer.bypass.name for layer in layers if layer.bypass is not None}
    for layer in layers:
        _find_later(layer, readers, bypasses)
    return layers


def _find_activation(layer, readers, taken):
    """Sets what the layer gives; False when that is nothing to be quantized."""
    out = layer.op.outputs[0]
    norm = readers.first(out, ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"))
    if norm is not None:
        raise names.NotYetImplementedError(
            f"quantization of '{layer.op.name}' with the batch normalization '{norm.name}' folded into it is not implemented "
            "yet in Thalweg: build the layer without a batch normalization")
    bias = readers.first(out, ("BiasAdd",) + _SUMS)
    last = out if bias is None else bias.outputs[0]
    activation = readers.first(last, _ACTIVATIONS)
    if activation is None and bias is not None:
        total = readers.first(last, _SUMS)
        activation = None if total is None else readers.first(total.outputs[0], _ACTIVATIONS)
        if activation is not None and activation.name + ":0" not in taken:
            layer.bypass, layer.before_sum = total, last
        else:
            activation = None
    if activation is not None:
        layer.given = activation.outputs[0]
    elif bias is not None or (layer.op.type == "DepthwiseConv2dNative" and readers.first(out, ("Conv2D",))):
        layer.given = last
    return layer.given is not None and layer.given.name not in taken


def _find_later(layer, readers, bypasses):
    """Sums and products of what the layer gives, and of those."""
    found, rest = set(), [(layer.given, layer.given.op.type in _ACTIVATIONS)]
    while rest:
        tensor, is_activation = rest.pop()
        for op, _ in readers.of(tensor):
            if op.type in _PASSING_ON:
                rest.append((op.outputs[0], False))
            elif op.type in _SUMS + ("Mul",) and op.name not in found and (is_activation or op.name not in bypasses):
                found.add(op.name)
                layer.after.append((op, is_activation and op.type in _SUMS))
                rest.append((op.outputs[0], False))


class _Rewriter:
    """Puts quantizations between tensors and those who read them, each tensor's once."""

    def __init__(self, where, readers, symmetric, delay, is_training):
        self._where, self._readers = where, readers
        self._symmetric, self._delay, self._is_training = symmetric, delay, is_training
        self._done = set()

    def weights(self, tensor, inside, bits):
        self._put(tensor, inside, "weights_quant", bits, -6.0, True)

    def activation(self, tensor, inside, name, bits):
        self._put(tensor, inside, name, bits, 0.0 if name == "act_quant" else -6.0, False)

    def _put(self, tensor, inside, name, bits, least, is_weights):
        readers = self._readers.of(tensor)
        if tensor.name in self._done or any(op.type.startswith("FakeQuant") for op, _ in readers):
            return
        self._done.add(tensor.name)
        step = self._step()
        with variable_scopes.variable_scope(None, default_name=f"{inside}/{name}" if inside else name, values=[tensor]):
            ends = [variable_scopes.get_variable(end, shape=[], initializer=init_ops.constant_initializer(value),
                                                 trainable=False, collections=[graph.GraphKeys.GLOBAL_VARIABLES])
                    for end, value in (("min", least), ("max", 6.0))]
            values = self._updated(ends, tensor, bits, is_weights) if self._is_training else [end.value() for end in ends]
            quantized = ops.apply("FakeQuantWithMinMaxVars", [tensor, *values], {"num_bits": bits, "narrow_range": is_weights})
            if step is not None:
                quantized = self._from_delay_on(step, quantized, tensor)
        for op, index in readers:
            self._where._set_input(op, index, quantized)

    def _from_delay_on(self, step, quantized, tensor):
        begun = ops.apply("GreaterEqual", [step, ops.constant(self._delay, dtypes.int64, name="activate_quant/y")], {},
                          name="activate_quant")
        return control_flow.cond(begun, lambda: quantized, lambda: tensor, name="delayed_quant")

    def _step(self):
        """The number of steps, counted by reading it; None when there is no delay."""
        if not self._delay:
            return None
        try:
            return self._where.get_tensor_by_name(_STEP + "/Identity:0")
        except KeyError:
            with graph.name_scope(None), graph.control_dependencies(None):
                step = variables.Variable(ops.constant(0, dtypes.int64), trainable=False, name=_STEP)
                with graph.name_scope(_STEP + "/"):
                    return array_ops.identity(variables.assign_add(step, ops.constant(1, dtypes.int64)), name="Identity")

    def _updated(self, ends, tensor, bits, is_weights):
        """The ends of the range after this step's values."""
        least = math_ops.reduce_min(tensor, name="BatchMin")
        most = math_ops.reduce_max(tensor, name="BatchMax")
        if self._symmetric:
            # As many steps below zero as above, but for one when all bit patterns are used.
            half = 2 ** (bits - 1)
            ratio = -1.0 if is_weights else -(half - 1) / half
            limits = most / ratio, least * ratio
        else:
            limits = ops.constant(0.0, name="Minimum/y"), ops.constant(0.0, name="Maximum/y")
        values = [ops.apply("Minimum", [least, limits[0]]), ops.apply("Maximum", [most, limits[1]])]
        if is_weights:
            return [variables.assign(end, value, name=f"Assign{which}Last")
                    for which, end, value in zip(("Min", "Max"), ends, values)]
        return [moving_averages.assign_moving_average(end, value, _DECAY, name=f"Assign{which}Ema")
                for which, end, value in zip(("Min", "Max"), ends, values)]


names.complete(globals())
