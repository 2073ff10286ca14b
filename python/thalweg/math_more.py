# SPDX-License-Identifier: Apache-2.0
"""Functions of several operations: confusion matrices, grids, crops, containers."""
import contextlib

from thalweg import array_ops, dtypes, math_ops, ops, random_ops
from thalweg.graph import name_scope
from thalweg.ops import apply, convert_to_tensor


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
    """(labels, predictions), without a last dimension of 1 that one has more than the other."""
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        if labels.shape.ndims is not None and predictions.shape.ndims is not None:
            difference = predictions.shape.ndims - labels.shape.ndims
            if difference == expected_rank_diff + 1 and predictions.shape[-1].is_compatible_with(1):
                predictions = array_ops.squeeze(predictions, [-1])
            elif difference == expected_rank_diff - 1 and labels.shape[-1].is_compatible_with(1):
                labels = array_ops.squeeze(labels, [-1])
        return labels, predictions


def confusion_matrix(labels, predictions, num_classes=None, dtype=dtypes.int32, name=None, weights=None):
    """How often class i was taken for class j."""
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]) as scope:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        labels, predictions = math_ops.cast(labels, dtypes.int64), math_ops.cast(predictions, dtypes.int64)
        if num_classes is None:
            highest = apply("Maximum", [math_ops.reduce_max(predictions), math_ops.reduce_max(labels)])
            num_classes = highest + ops.constant(1, dtypes.int64)
        else:
            num_classes = math_ops.cast(num_classes, dtypes.int64)
        places = array_ops.stack([labels, predictions], axis=1)
        values = array_ops.ones_like(predictions, dtype) if weights is None else math_ops.cast(weights, dtype)
        return apply("ScatterNd", [places, values, array_ops.stack([num_classes, num_classes])], name=scope)


def meshgrid(*args, **kwargs):
    """Coordinates of all points of a grid."""
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{sorted(kwargs)[0]}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        lines = [array_ops.reshape(convert_to_tensor(a), [-1]) for a in args]
        sizes = [array_ops.size(line) for line in lines]
        shapes = [[1] * i + [-1] + [1] * (len(args) - i - 1) for i in range(len(args))]
        if indexing == "xy" and len(args) > 1:
            shapes[0], shapes[1], sizes[0], sizes[1] = shapes[1], shapes[0], sizes[1], sizes[0]
        return [array_ops.broadcast_to(array_ops.reshape(line, shape), array_ops.stack(sizes))
                for line, shape in zip(lines, shapes)]


def random_crop(value, size, seed=None, name=None):
    """A part of `size` at a random place."""
    with name_scope(name, "random_crop", [value, size]) as scope:
        value, size = convert_to_tensor(value, name="value"), convert_to_tensor(size, dtype=dtypes.int32, name="size")
        limit = array_ops.shape(value) - size + 1
        offset = random_ops.random_uniform(array_ops.shape(limit), maxval=2**31 - 1, dtype=dtypes.int32, seed=seed) % limit
        return array_ops.slice_(value, offset, size, name=scope)


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Class numbers drawn for each row."""
    return random_ops.multinomial(logits, num_samples, seed=seed, name=name, output_dtype=dtype or dtypes.int64)


@contextlib.contextmanager
def container(container_name):
    """Resources that are made meanwhile would be of this container; there is one session's resources here, so it is a scope
    that changes nothing."""
    if not isinstance(container_name, str):
        raise TypeError(f"container_name must be a string, got {container_name!r}")
    yield container_name
