# SPDX-License-Identifier: Apache-2.0
"""tw.feature_column: what models take from features, column by column.

    age = tw.feature_column.numeric_column("age")
    town = tw.feature_column.categorical_column_with_hash_bucket("town", 1000)
    layer = tw.feature_column.input_layer(features, [age, tw.feature_column.embedding_column(town, 8)])
"""
from thalweg.base import names

names.complete(globals(), {
    "feature_column.categorical": "categorical_column_with_hash_bucket categorical_column_with_identity "
                                  "categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list "
                                  "weighted_categorical_column",
    "feature_column.crossed": "crossed_column",
    "feature_column.embedding": "embedding_column indicator_column shared_embedding_columns",
    "feature_column.example_spec": "make_parse_example_spec",
    "feature_column.layer_of_columns": "input_layer",
    "feature_column.linear": "linear_model",
    "feature_column.numeric": "bucketized_column numeric_column",
    "feature_column.sequences": "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
                                "sequence_categorical_column_with_vocabulary_file "
                                "sequence_categorical_column_with_vocabulary_list sequence_numeric_column"})
