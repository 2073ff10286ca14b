# SPDX-License-Identifier: Apache-2.0
"""tw.data: input pipelines."""
from thalweg.base import names

names.complete(globals(), {
    "data.dataset": "AUTOTUNE Dataset INFINITE_CARDINALITY UNKNOWN_CARDINALITY",
    "data.structure": "DatasetSpec",
    "data.iterators": "Iterator",
    "data.readers": "FixedLengthRecordDataset TFRecordDataset TextLineDataset",
    "data.options": "Options",
    "data.questions": "get_output_classes get_output_shapes get_output_types make_initializable_iterator make_one_shot_iterator"})
