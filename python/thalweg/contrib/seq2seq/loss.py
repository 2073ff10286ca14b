# SPDX-License-Identifier: Apache-2.0
"""sequence_loss: the weighted cross entropy of sequences."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.graph import graph
from thalweg.graph.ops import apply
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.graph.tensor import Tensor


def sequence_loss(logits: Tensor, targets: Tensor, weights: Tensor, average_across_timesteps: bool = True,
                  average_across_batch: bool = True, sum_over_timesteps: bool = False, sum_over_batch: bool = False,
                  softmax_loss_function: Callable[..., Tensor] | None = None, name: str | None = None) -> Tensor:
    """The weighted cross entropy of sequences: averages weigh by `weights`, sums divide by the number of weights that are not zero.

    Parameters
    ----------
    logits : Tensor
        Of a floating type and shape [batch, time, symbols].
    targets : Tensor
        Numbers of symbols, int32 or int64, [batch, time].
    weights : Tensor
        How much each counts, [batch, time]; of the type of `logits`.
    average_across_timesteps, average_across_batch : bool
        Whether losses are averaged over time, over the batch.
    sum_over_timesteps, sum_over_batch : bool
        Whether they are summed instead.
    softmax_loss_function : callable, optional
        Gets labels and logits by name; sparse_softmax_cross_entropy_with_logits by default.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        A scalar; of shape [batch], [time] or [batch, time] where it is not averaged over the others.

    Raises
    ------
    ValueError
        If ranks are wrong, or something is to be both averaged and summed.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     loss = tw.contrib.seq2seq.sequence_loss(tw.zeros([1, 3, 2]), tw.zeros([1, 3], tw.int32), tw.ones([1, 3]))
    ...     print(sess.run(loss))
    0.6931472
    """
    for what, shape, ranks in (("Logits", logits, 3), ("Targets", targets, 2), ("Weights", weights, 2)):
        if len(shape.get_shape()) != ranks:
            wanted = "[batch_size x sequence_length x logits]" if ranks == 3 else "[batch_size x sequence_length]"
            raise ValueError(f"{what} must be a {wanted} tensor")
    if average_across_timesteps and sum_over_timesteps:
        raise ValueError("average_across_timesteps and sum_over_timesteps cannot be set to True at same time.")
    if average_across_batch and sum_over_batch:
        raise ValueError("average_across_batch and sum_over_batch cannot be set to True at same time.")
    with graph.name_scope(name or "sequence_loss"):
        symbols = array_ops.shape(logits)[2]
        flat, labels = array_ops.reshape(logits, [-1, symbols]), array_ops.reshape(targets, [-1])
        if softmax_loss_function is None:
            loss = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
        else:
            loss = softmax_loss_function(labels=labels, logits=flat)
        loss = loss * array_ops.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            total = math_ops.reduce_sum(weights)
            return _divided(math_ops.reduce_sum(loss), total)
        if sum_over_timesteps and sum_over_batch:
            count = math_ops.cast(math_ops.count_nonzero(weights), loss.dtype)
            return _divided(math_ops.reduce_sum(loss), count)
        loss = array_ops.reshape(loss, array_ops.shape(logits)[0:2])
        for average, summed, axis in ((average_across_timesteps, sum_over_timesteps, 1),
                                      (average_across_batch, sum_over_batch, 0)):
            if average or summed:
                count = math_ops.reduce_sum(weights, axis=axis) if average else math_ops.cast(
                    math_ops.count_nonzero(weights, axis=axis), loss.dtype)
                return _divided(math_ops.reduce_sum(loss, axis=axis), count)
        return loss


def _divided(total, count):
    return apply("DivNoNan", [total, count])
