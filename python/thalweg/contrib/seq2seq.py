# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.seq2seq: losses of sequences."""
from thalweg import array_ops, dtypes, math_ops, nn
from thalweg.graph import name_scope
from thalweg.names import NotYetImplementedError


def sequence_loss(logits, targets, weights, average_across_timesteps=True, average_across_batch=True,
                  sum_over_timesteps=False, sum_over_batch=False, softmax_loss_function=None, name=None):
    """Weighted cross entropy of sequences: logits [batch, time, classes], targets and weights [batch, time]."""
    if logits.shape.ndims != 3:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    if targets.shape.ndims != 2:
        raise ValueError("Targets must be a [batch_size x sequence_length] tensor")
    if weights.shape.ndims != 2:
        raise ValueError("Weights must be a [batch_size x sequence_length] tensor")
    if average_across_timesteps and sum_over_timesteps or average_across_batch and sum_over_batch:
        raise ValueError("average_across_timesteps and sum_over_timesteps (and those over the batch) cannot be set to True at "
                         "same time.")
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = array_ops.shape(logits)[2]
        flat, labels = array_ops.reshape(logits, array_ops.stack([-1, classes])), array_ops.reshape(targets, [-1])
        if softmax_loss_function is None:
            loss = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
        else:
            loss = softmax_loss_function(labels=labels, logits=flat)
        loss *= array_ops.reshape(weights, [-1])

        if average_across_timesteps and average_across_batch:
            return math_ops.reduce_sum(loss) / (math_ops.reduce_sum(weights) + 1e-12)
        if sum_over_timesteps and sum_over_batch:
            count = math_ops.cast(math_ops.count_nonzero(weights), loss.dtype.base_dtype)
            return math_ops.reduce_sum(loss) / (count + 1e-12)
        loss = array_ops.reshape(loss, array_ops.shape(logits)[:2])
        if average_across_timesteps or average_across_batch:
            axis = [0] if average_across_batch else [1]
            return math_ops.reduce_sum(loss, axis) / (math_ops.reduce_sum(weights, axis) + 1e-12)
        if sum_over_timesteps or sum_over_batch:
            axis = [0] if sum_over_batch else [1]
            count = math_ops.cast(math_ops.count_nonzero(weights, axis, dtype=dtypes.float32), loss.dtype.base_dtype)
            return math_ops.reduce_sum(loss, axis) / (count + 1e-12)
        return loss


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    raise NotYetImplementedError(f"tf.contrib.seq2seq.{name} of TensorFlow 1.15 is not implemented yet in Thalweg")
