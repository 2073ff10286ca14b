# SPDX-License-Identifier: Apache-2.0
"""tw.data.experimental."""
from thalweg.base import names

names.complete(globals(), {
    "data.dataset": "AUTOTUNE INFINITE_CARDINALITY UNKNOWN_CARDINALITY",
    "data.structure": "DatasetStructure=DatasetSpec Optional",
    "data.iterators": "get_next_as_optional",
    "data.multi_device": "MultiDeviceIterator",
    "data.reducing": "get_single_element=single_element",
    "data.options": "DistributeOptions MapVectorizationOptions OptimizationOptions StatsOptions ThreadingOptions",
    "data.experimental.transformations": "Counter RaggedTensorStructure RandomDataset assert_cardinality cardinality dense_to_ragged_batch "
                                         "dense_to_sparse_batch enumerate_dataset from_variant "
                                         "get_structure ignore_errors map_and_batch parallel_interleave prefetch_to_device scan "
                                         "shuffle_and_repeat snapshot take_while to_variant unbatch",
    "data.experimental.grouping": "Reducer bucket_by_sequence_length group_by_reducer group_by_window",
    "data.experimental.csv_datasets": "CsvDataset make_csv_dataset",
    "data.experimental.iterator_states": "CheckpointInputPipelineHook make_saveable_from_iterator",
    "data.experimental.examples": "make_batched_features_dataset parse_example_dataset",
    "data.experimental.databases": "SqlDataset",
    "data.experimental.lists": "from_list",
    "data.experimental.choosing": "choose_from_datasets rejection_resample sample_from_datasets unique",
    "control.type_specs": "OptionalStructure=OptionalSpec SparseTensorStructure=SparseTensorSpec TensorStructure=TensorSpec "
                          "Structure=TypeSpec"})
