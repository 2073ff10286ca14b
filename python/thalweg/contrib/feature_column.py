# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.feature_column: columns of sequences under their older names, and the layer of them."""
from thalweg.base import names

names.complete(globals(), {
    "feature_column.sequence_layer": "sequence_input_layer",
    "feature_column.sequences": "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
                                "sequence_categorical_column_with_vocabulary_file "
                                "sequence_categorical_column_with_vocabulary_list sequence_numeric_column"})
