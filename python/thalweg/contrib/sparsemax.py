# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.sparsemax: the point of the simplex that is nearest to the logits (Martins and Astudillo, 2016)."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nn
from thalweg.base import names
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.operations.array_layout import batch_gather

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def sparsemax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Probabilities of each row, many of them 0: logits less a threshold of the row, where that is positive."""
    with name_scope(name, "sparsemax", [logits]):
        logits = convert_to_tensor(logits)
        shape = array_ops.shape(logits)
        width = shape[-1]
        z = array_ops.reshape(logits, [-1, width])
        z = z - math_ops.reduce_max(z, 1, keepdims=True)
        ordered, _ = nn.top_k(z, width)
        sums = math_ops.cumsum(ordered, axis=1)
        rank = math_ops.cast(math_ops.range_(1, width + 1), z.dtype)
        inside = math_ops.cast(ops.apply("Greater", [1 + rank * ordered, sums]), dtypes.int32)
        number = math_ops.reduce_sum(inside, 1, keepdims=True)
        total = array_ops.reshape(batch_gather(sums, ops.apply("Maximum", [number - 1, 0])), [-1, 1])
        threshold = (total - 1) / math_ops.cast(number, z.dtype)
        found = array_ops.reshape(nn.relu(z - threshold), shape)
        found.set_shape(logits.shape)
        return found


def sparsemax_loss(logits: TensorLike, sparsemax: TensorLike, labels: TensorLike, name: str | None = None) -> Tensor:
    """Of each row, how far its sparsemax is from the labels: 0 where they are equal."""
    with name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits, sparsemax, labels = (convert_to_tensor(x) for x in (logits, sparsemax, labels))
        z = logits - math_ops.reduce_mean(logits, 1, keepdims=True)
        return math_ops.reduce_sum(sparsemax * (z - 0.5 * sparsemax) + labels * (0.5 * labels - z), 1)


names.complete(globals())
