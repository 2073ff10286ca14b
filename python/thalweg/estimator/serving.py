# SPDX-License-Identifier: Apache-2.0
"""What an exported model receives: features, and the tensors that a server feeds for them."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor import Tensor
from thalweg.operations.array_ops import placeholder
from thalweg.operations.parsing import parse_example

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

_KINDS = (Tensor, SparseTensor)


def _named(tensors, name, what):
    """{key: tensor} of tensors or of one."""
    found = tensors if isinstance(tensors, dict) else {name: tensors}
    for key, value in found.items():
        if not isinstance(key, str):
            raise ValueError(f"{what} keys must be strings: {key}.")
        if not isinstance(value, _KINDS):
            raise ValueError(f"{what} {key} must be a Tensor or SparseTensor.")
    return found


def _checked_alternatives(alternatives):
    if alternatives is None:
        return None
    if not isinstance(alternatives, dict):
        raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives}.")
    return {name: _named(tensors, "input", "receiver_tensor") for name, tensors in alternatives.items()}


class ServingInputReceiver(collections.namedtuple("ServingInputReceiver", (
        "features", "receiver_tensors", "receiver_tensors_alternatives"))):
    """Features for a model function, and the tensors that a server feeds.

    Parameters
    ----------
    features : Tensor or dict of Tensor
        What the model function gets; a tensor by itself as {"feature": tensor}.
    receiver_tensors : Tensor or dict of Tensor
        What is fed; a tensor by itself is named "input".
    receiver_tensors_alternatives : dict, optional
        {name: other receiver_tensors}, for signatures of their own.

    Raises
    ------
    ValueError
        If something is missing, or no tensor.
    """

    def __new__(cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Mapping[str, Any] | None = None) -> Self:
        if features is None:
            raise ValueError("features must be defined.")
        if receiver_tensors is None:
            raise ValueError("receiver_tensors must be defined.")
        return super().__new__(cls, _named(features, "feature", "feature"), _named(receiver_tensors, "input", "receiver_tensor"),
                               _checked_alternatives(receiver_tensors_alternatives))


class TensorServingInputReceiver(collections.namedtuple("TensorServingInputReceiver", (
        "features", "receiver_tensors", "receiver_tensors_alternatives"))):
    """ServingInputReceiver for a model function that takes a tensor by itself."""

    def __new__(cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Mapping[str, Any] | None = None) -> Self:
        if features is None:
            raise ValueError("features must be defined.")
        if not isinstance(features, _KINDS):
            raise ValueError("feature must be a Tensor or SparseTensor.")
        if receiver_tensors is None:
            raise ValueError("receiver_tensors must be defined.")
        return super().__new__(cls, features, _named(receiver_tensors, "input", "receiver_tensor"),
                               _checked_alternatives(receiver_tensors_alternatives))


def build_parsing_serving_input_receiver_fn(feature_spec: Mapping[str, Any],
                                            default_batch_size: int | None = None) -> Callable[[], ServingInputReceiver]:
    """A function for export_saved_model() of a model that is fed serialized Examples.

    Examples
    --------
    >>> spec = {"x": tw.io.FixedLenFeature([2], tw.float32)}
    >>> receiver = tw.estimator.export.build_parsing_serving_input_receiver_fn(spec)()
    >>> sorted(receiver.receiver_tensors), receiver.features["x"].shape.as_list()
    (['examples'], [None, 2])
    """
    def serving_input_receiver_fn():
        serialized = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})
    return serving_input_receiver_fn


def build_raw_serving_input_receiver_fn(features: Mapping[str, Tensor],
                                        default_batch_size: int | None = None) -> Callable[[], ServingInputReceiver]:
    """A function for export_saved_model() of a model that is fed its features, of the shapes and types of these tensors."""
    def serving_input_receiver_fn():
        made = {name: placeholder(t.dtype.base_dtype, [default_batch_size, *t.shape.as_list()[1:]], name=name)
                for name, t in features.items()}
        return ServingInputReceiver(made, made)
    return serving_input_receiver_fn
