# SPDX-License-Identifier: Apache-2.0
"""Signatures: which tensors of a graph are a method's arguments and results."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, messages
from thalweg.graph import graph, ops
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.saved_model import constants as keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Tensor
    from thalweg.messages import SignatureDef, TensorInfo


def build_tensor_info(tensor: Tensor | SparseTensor) -> TensorInfo:
    """The TensorInfo of a tensor, sparse or not."""
    info = messages.TensorInfo(dtype=tensor.dtype.base_dtype.as_datatype_enum)
    info.tensor_shape.CopyFrom(tensor.get_shape().as_proto())
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(tensor_info: TensorInfo, graph: Graph | None = None,
                                import_scope: str | None = None) -> Tensor | SparseTensor:
    """The tensor that a TensorInfo names."""
    target = graph or _default_graph()

    def named(name):
        return target.get_tensor_by_name(f"{import_scope}/{name}" if import_scope else name)
    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return named(tensor_info.name)
    if encoding == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(named(parts.indices_tensor_name), named(parts.values_tensor_name),
                            named(parts.dense_shape_tensor_name))
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")


def _default_graph():
    return graph.get_default_graph()


def build_signature_def(inputs: Mapping[str, TensorInfo] | None = None, outputs: Mapping[str, TensorInfo] | None = None,
                        method_name: str | None = None) -> SignatureDef:
    """The SignatureDef of {argument: TensorInfo}, {result: TensorInfo} and the name of the method."""
    made = messages.SignatureDef()
    for given, target in ((inputs, made.inputs), (outputs, made.outputs)):
        for name, info in (given or {}).items():
            target[name].CopyFrom(info)
    if method_name is not None:
        made.method_name = method_name
    return made


def _of_type(tensor, dtype, what):
    """The TensorInfo of a tensor that must be of a type."""
    if tensor is None:
        raise ValueError(f"{what} cannot be None.")
    if not hasattr(tensor, "op"):
        raise ValueError(f"{what} must be a Tensor, got {type(tensor)}")
    if tensor.dtype.base_dtype is not dtype:
        raise ValueError(f"{what} must be a {dtype.name} Tensor, got {tensor.dtype.name}")
    return build_tensor_info(tensor)


def classification_signature_def(examples: Tensor, classes: Tensor | None, scores: Tensor | None) -> SignatureDef:
    """The signature of a classifier: serialized examples to classes, scores or both."""
    inputs = {keys.CLASSIFY_INPUTS: _of_type(examples, dtypes.string, "Classification examples")}
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs[keys.CLASSIFY_OUTPUT_CLASSES] = _of_type(classes, dtypes.string, "Classification classes")
    if scores is not None:
        outputs[keys.CLASSIFY_OUTPUT_SCORES] = _of_type(scores, dtypes.float32, "Classification scores")
    return build_signature_def(inputs, outputs, keys.CLASSIFY_METHOD_NAME)


def regression_signature_def(examples: Tensor, predictions: Tensor | None) -> SignatureDef:
    """The signature of a regression: serialized examples to numbers."""
    inputs = {keys.REGRESS_INPUTS: _of_type(examples, dtypes.string, "Regression examples")}
    outputs = {keys.REGRESS_OUTPUTS: _of_type(predictions, dtypes.float32, "Regression predictions")}
    return build_signature_def(inputs, outputs, keys.REGRESS_METHOD_NAME)


def predict_signature_def(inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> SignatureDef:
    """The signature of any function of tensors: {argument: tensor}, {result: tensor}."""
    for given, what in ((inputs, "inputs"), (outputs, "outputs")):
        if not given:
            raise ValueError(f"Prediction {what} cannot be None or empty.")

    def infos(tensors):
        return {name: build_tensor_info(_tensor(t)) for name, t in tensors.items()}
    return build_signature_def(infos(inputs), infos(outputs), keys.PREDICT_METHOD_NAME)


def _tensor(value):
    return value if isinstance(value, SparseTensor) else ops.convert_to_tensor(value)


def _is(info, dtype):
    return info.dtype == dtype.as_datatype_enum


def is_valid_signature(signature_def: SignatureDef) -> bool:
    """Whether a server could call it: arguments and results are as its method has them."""
    if signature_def is None:
        return False
    inputs, outputs, method = signature_def.inputs, signature_def.outputs, signature_def.method_name
    if method == keys.PREDICT_METHOD_NAME:
        return bool(inputs) and bool(outputs)
    if method == keys.REGRESS_METHOD_NAME:
        return set(inputs) == {keys.REGRESS_INPUTS} and _is(inputs[keys.REGRESS_INPUTS], dtypes.string) and \
            set(outputs) == {keys.REGRESS_OUTPUTS} and _is(outputs[keys.REGRESS_OUTPUTS], dtypes.float32)
    if method == keys.CLASSIFY_METHOD_NAME:
        wanted = {keys.CLASSIFY_OUTPUT_CLASSES: dtypes.string, keys.CLASSIFY_OUTPUT_SCORES: dtypes.float32}
        return set(inputs) == {keys.CLASSIFY_INPUTS} and _is(inputs[keys.CLASSIFY_INPUTS], dtypes.string) and \
            bool(outputs) and all(name in wanted and _is(info, wanted[name]) for name, info in outputs.items())
    return False
