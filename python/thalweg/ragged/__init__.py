# SPDX-License-Identifier: Apache-2.0
"""tw.ragged: tensors whose rows have different lengths."""
from thalweg.base import names

names.complete(globals(), {
    "ragged.factories": "constant constant_value placeholder range",
    "ragged.functions": "boolean_mask map_flat_values stack stack_dynamic_partitions",
    "ragged.partitions": "row_splits_to_segment_ids segment_ids_to_row_splits",
    "ragged.ragged_tensor_value": "RaggedTensorValue"})
