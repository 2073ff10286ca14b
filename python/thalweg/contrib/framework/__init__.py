# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.framework: arg_scope, variables of models, values from checkpoints."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.base import names
from thalweg.compatibility.stand_ins import (
    _get_graph_from_inputs as get_graph_from_inputs,
    deprecated,
    deprecated_arg_values,
    deprecated_args,
    prepend_name_scope,
    strip_name_scope,
)
from thalweg.contrib.framework import arg_scopes as arg_scope_module, variables as variable_module
from thalweg.contrib.framework.arg_scopes import *  # noqa: F403
from thalweg.contrib.framework.record_input import RecordInput
from thalweg.contrib.framework.variables import *  # noqa: F403
from thalweg.control.control_flow import smart_cond
from thalweg.control.critical_section import CriticalSection
from thalweg.graph import graph, ops, tensor_util
from thalweg.graph.tensor_util import constant_value, is_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.saving import checkpoint_utils
from thalweg.saving.checkpoint_utils import init_from_checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, PathLike, ShapeLike, TensorLike
    from thalweg.graph.graph import Graph
    from thalweg.graph.sparse_tensor import SparseTensor
    from thalweg.graph.tensor import Tensor


def load_checkpoint(filepattern: PathLike) -> checkpoint_utils.CheckpointReader:
    """Opens a checkpoint to look into it.

    Parameters
    ----------
    filepattern : str or path
        A checkpoint, or a directory, of which the newest one is taken.

    Returns
    -------
    CheckpointReader
        With get_tensor(), has_tensor() and get_variable_to_shape_map().

    Raises
    ------
    ValueError
        The directory has no checkpoint.

    Examples
    --------
    >>> w = tw.get_variable("w", initializer=[1.0, 2.0])
    >>> with tw.Session() as sess:
    ...     sess.run(w.initializer)
    ...     _ = tw.train.Saver().save(sess, "model")
    >>> print(tw.contrib.framework.load_checkpoint("model").get_tensor("w"))
    [1. 2.]
    """
    return checkpoint_utils.load_checkpoint(filepattern)


def load_variable(checkpoint_dir: PathLike, name: str) -> Any:
    """The value of a variable."""
    return checkpoint_utils.load_variable(checkpoint_dir, name)


def list_variables(checkpoint_dir: PathLike) -> list[tuple[str, list[int]]]:
    """Lists the variables of a checkpoint.

    Parameters
    ----------
    checkpoint_dir : str or path
        A checkpoint, or a directory, of which the newest one is taken.

    Returns
    -------
    list of (str, list of int)
        Names and shapes, by name.

    Raises
    ------
    ValueError
        The directory has no checkpoint.

    Examples
    --------
    >>> w = tw.get_variable("w", initializer=[1.0, 2.0])
    >>> with tw.Session() as sess:
    ...     sess.run(w.initializer)
    ...     _ = tw.train.Saver().save(sess, "model")
    >>> tw.contrib.framework.list_variables("model")
    [('w', [2])]
    """
    return checkpoint_utils.list_variables(checkpoint_dir)


def get_name_scope() -> str:
    """The name scope that code is in."""
    return graph.get_default_graph().get_name_scope()


def get_placeholders(graph: Graph) -> list[Tensor]:
    """All placeholders of a graph."""
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def smart_constant_value(pred: bool | Tensor) -> Any:
    """The value of a condition where it is known, else None."""
    if pred in (0, 1) and not is_tensor(pred):
        return bool(pred)
    if not is_tensor(pred):
        raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {pred}")
    return constant_value(pred)


def assert_scalar(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The tensor, which must have one element and no dimension."""
    tensor.shape.assert_has_rank(0)
    return tensor


def convert_to_tensor_or_sparse_tensor(value: TensorLike | SparseTensor, dtype: DTypeLike | None = None,
                                       name: str | None = None) -> Tensor | SparseTensor:
    """A SparseTensor itself, all else as a tensor."""
    return value if hasattr(value, "dense_shape") else ops.convert_to_tensor(value, dtype, name)


def reduce_sum_n(tensors: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """The sum of all elements of all tensors."""
    return math_ops.add_n([math_ops.reduce_sum(t) for t in tensors], name=name)


def with_shape(expected_shape: ShapeLike | Tensor, tensor: TensorLike) -> Tensor:
    """The tensor, of which this shape is known from now on."""
    made = array_ops.identity(tensor)
    made.set_shape(expected_shape)
    return made


def with_same_shape(expected_tensor: TensorLike, tensor: TensorLike) -> Tensor:
    """The tensor, once it is known to have the shape of another."""
    return with_shape(expected_tensor.shape, tensor)


__all__ = [*arg_scope_module.__all__, *variable_module.__all__, "CriticalSection", "RecordInput", "arg_scope_module", "deprecated",
           "deprecated_arg_values", "deprecated_args", "get_graph_from_inputs", "init_from_checkpoint", "is_tensor", "list_variables",
           "load_checkpoint", "load_variable", "nest", "prepend_name_scope", "smart_cond", "strip_name_scope", "tensor_util"]

names.complete(globals())
