# SPDX-License-Identifier: Apache-2.0
"""sequence_input_layer: the values of columns of sequences side by side."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.feature_column.column import SEQUENCE, _LazyBuilder
from thalweg.feature_column.layer_of_columns import collections_of, ordered_columns
from thalweg.graph.graph import control_dependencies
from thalweg.operations import array_ops, checks
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from thalweg.graph.tensor import Tensor


def sequence_input_layer(features: Mapping[str, Any], feature_columns: Any, weight_collections: Iterable[str] | None = None,
                         trainable: bool = True) -> tuple[Tensor, Tensor]:
    """(values of shape [batch, steps, width], the length of each sequence) of columns of sequences, sorted by their names."""
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, SEQUENCE):
            raise ValueError("All feature_columns must be of type _SequenceDenseColumn: categories go into embedding_column or "
                             f"indicator_column. Given: {column}")
    kept, builder = collections_of(weight_collections), _LazyBuilder(features)
    with variable_scope(None, default_name="sequence_input_layer", values=list(features.values())):
        values, lengths = [], []
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name):
                dense, length = column._get_sequence_dense_tensor(builder, weight_collections=kept, trainable=trainable)
                shape, width = array_ops.shape(dense), column._variable_shape.num_elements()
                values.append(array_ops.reshape(dense, [shape[0], shape[1], width]))
                lengths.append(length)
        return array_ops.concat(values, -1), _alike(lengths)


def _alike(lengths):
    """The lengths, which are those of all columns."""
    with control_dependencies([checks.assert_equal(lengths[0], other) for other in lengths[1:]]):
        return array_ops.identity(lengths[0])
