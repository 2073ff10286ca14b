# SPDX-License-Identifier: Apache-2.0
"""Cross entropies of what a model puts out: of probabilities, of the logits that they were made of, or of logits themselves."""
from __future__ import annotations

from typing import TYPE_CHECKING

import thalweg
from thalweg.graph.tensor import Tensor
from thalweg.keras.settings import epsilon

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike


def _logits(output, activation):
    """What the activation that gave this output was given; None where another operation gave it."""
    while isinstance(output, Tensor) and output.op.type == "Identity":
        output = output.op.inputs[0]
    return output.op.inputs[0] if isinstance(output, Tensor) and output.op.type == activation else None


def _clipped(output):
    return thalweg.clip_by_value(output, epsilon(), 1.0 - epsilon())


def categorical_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy of probabilities of classes; `target` are probabilities as well."""
    logits = output if from_logits else _logits(output, "Softmax")
    if logits is not None:
        return thalweg.nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, axis=axis)
    output = _clipped(output / thalweg.reduce_sum(output, axis, keepdims=True))
    return -thalweg.reduce_sum(target * thalweg.log(output), axis)


def sparse_categorical_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy of probabilities of classes; `target` are numbers of classes."""
    logits = output if from_logits else _logits(output, "Softmax")
    if logits is None:
        logits = thalweg.log(_clipped(output))
    rank = logits.shape.ndims
    if axis not in (-1, rank - 1):
        logits = thalweg.transpose(logits, [a for a in range(rank) if a != axis % rank] + [axis % rank])
    target = thalweg.cast(target, "int64")
    shape = thalweg.shape(logits)
    reshaped = target.shape.ndims != rank - 1
    if reshaped:
        target, logits = thalweg.reshape(target, [-1]), thalweg.reshape(logits, [-1, logits.shape[-1].value])
    losses = thalweg.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
    return thalweg.reshape(losses, shape[:-1]) if reshaped and rank >= 3 else losses


def binary_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False) -> Tensor:
    """The cross entropy of probabilities of yes or no, one for each element."""
    logits = output if from_logits else _logits(output, "Sigmoid")
    if logits is not None:
        return thalweg.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    output = _clipped(output)
    return -(target * thalweg.log(output + epsilon()) + (1 - target) * thalweg.log(1 - output + epsilon()))
