# SPDX-License-Identifier: Apache-2.0
"""What an exported model offers: outputs of the kinds that servers know, and their signatures."""
from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from thalweg import dtypes, logging as tw_logging
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor import Tensor
from thalweg.saved_model import signatures
from thalweg.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from thalweg.messages import SignatureDef


class ExportOutput(abc.ABC):
    """An output of an exported model."""

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
        """The signature from what the model receives to this output."""


def _only_input(receiver_tensors, what):
    """The one tensor of serialized examples that classifiers and regressions take."""
    if len(receiver_tensors) != 1:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    (examples,) = receiver_tensors.values()
    if not isinstance(examples, Tensor) or examples.dtype.base_dtype != dtypes.string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receiver_tensors}")
    return examples


class ClassificationOutput(ExportOutput):
    """Scores of classes, their names, or both.

    Parameters
    ----------
    scores : Tensor, optional
        Of a floating type.
    classes : Tensor, optional
        Of strings.

    Raises
    ------
    ValueError
        If both are missing or one is of another type.
    """

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype.base_dtype == dtypes.string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores, self._classes = scores, classes

    @property
    def scores(self) -> Tensor | None:
        """Scores of classes."""
        return self._scores

    @property
    def classes(self) -> Tensor | None:
        """Names of classes."""
        return self._classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
        """A classifier of serialized examples."""
        return signatures.classification_signature_def(_only_input(receiver_tensors, "Classification"), self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """Numbers.

    Parameters
    ----------
    value : Tensor
        Of a floating type.

    Raises
    ------
    ValueError
        If it is of another type.
    """

    def __init__(self, value: Tensor) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Tensor:
        """The numbers."""
        return self._value

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
        """A regression on serialized examples."""
        return signatures.regression_signature_def(_only_input(receiver_tensors, "Regression"), self.value)


class PredictOutput(ExportOutput):
    """Any tensors by name.

    Parameters
    ----------
    outputs : Tensor or dict of Tensor
        A tensor by itself is named "output".

    Raises
    ------
    ValueError
        If a name is no text or an output is no tensor.
    """

    def __init__(self, outputs: Tensor | Mapping[str, Tensor]) -> None:
        self._outputs = _by_name(outputs, "output", "Prediction output")

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The tensors by name."""
        return self._outputs

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> SignatureDef:
        """A function from what the model receives to the outputs."""
        return signatures.predict_signature_def(receiver_tensors, self.outputs)


def _by_name(tensors, name, what):
    """{name: tensor}; keys that are tuples are joined by "/"."""
    found = {}
    for key, value in (tensors if isinstance(tensors, dict) else {name: tensors}).items():
        key = "/".join(str(part) for part in key) if isinstance(key, tuple) else key
        if not isinstance(key, str):
            raise ValueError(f"{what} key must be a string; got {key}.")
        if not isinstance(value, (Tensor, SparseTensor)):
            if not hasattr(value, "op"):
                raise ValueError(f"{what} value must be a Tensor; got {value}.")
            value = convert_to_tensor(value)
        found[key] = value
    return found


def default_outputs(export_outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """What a model offers, the default one included."""
    if export_outputs is None:
        export_outputs = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"`export_outputs` must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(f"Values in `export_outputs` must be ExportOutput objects. Given: {export_outputs}")
    if len(export_outputs) == 1:
        (value,) = export_outputs.values()
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: value, **export_outputs}
    if len(export_outputs) > 1 and DEFAULT_SERVING_SIGNATURE_DEF_KEY not in export_outputs:
        raise ValueError("Multiple export_outputs were provided, but none of them is specified as the default: none is named "
                         f"\"{DEFAULT_SERVING_SIGNATURE_DEF_KEY}\".")
    return dict(export_outputs)


def all_signatures(receiver_tensors: Any, export_outputs: Mapping[str, ExportOutput],
                   receiver_tensors_alternatives: Any = None) -> dict[str, SignatureDef]:
    """The signatures of all outputs that what the model receives can serve, alternatives as "name:output"."""
    if not isinstance(receiver_tensors, dict):
        receiver_tensors = {"receiver": receiver_tensors}
    found, left_out = {}, {}
    for prefix, tensors in [("", receiver_tensors), *((f"{name}:", t) for name, t in (receiver_tensors_alternatives or {}).items())]:
        tensors = tensors if isinstance(tensors, dict) else {"receiver": tensors}
        for key, output in export_outputs.items():
            try:
                found[prefix + key] = output.as_signature_def(tensors)
            except ValueError as error:
                left_out[prefix + key] = error
    for name, why in left_out.items():
        tw_logging.info("Export includes no signature %s: %s", name, why)
    return {name: s for name, s in found.items() if signatures.is_valid_signature(s)}
