# SPDX-License-Identifier: Apache-2.0
"""tw.data.experimental."""
from thalweg.base import names

names.complete(globals(), {
    "data.dataset": "AUTOTUNE INFINITE_CARDINALITY UNKNOWN_CARDINALITY",
    "data.structure": "DatasetStructure=DatasetSpec Optional",
    "data.iterators": "get_next_as_optional",
    "data.reducing": "get_single_element=single_element",
    "data.options": "DistributeOptions MapVectorizationOptions OptimizationOptions StatsOptions ThreadingOptions",
    "data.experimental.transformations": "Counter RandomDataset assert_cardinality cardinality enumerate_dataset from_variant "
                                         "get_structure ignore_errors map_and_batch parallel_interleave prefetch_to_device scan "
                                         "shuffle_and_repeat take_while to_variant unbatch",
    "control.type_specs": "OptionalStructure=OptionalSpec SparseTensorStructure=SparseTensorSpec TensorStructure=TensorSpec "
                          "Structure=TypeSpec"})
