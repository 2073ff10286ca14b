# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors: counted, crossed, filled up, gathered, made dense or sparse, packed into variants."""
import numpy as np
from cases import Fed, L, N, Typed, case, num

SPLITS = Fed([0, 2, 2, 5])  # rows of 2, 0 and 3
OUTER = Fed([0, 2, 3])  # of these rows: 2 and 1
FEW = Fed([1, 0, 3, 1, 2])
NO_WEIGHTS = Fed([])
WRONG = (Fed([0, 2, 2, 4]), Fed([0, 3, 2, 5]), Fed([1, 2, 5]), Fed([]), Fed([0, 2, 7]))  # not all values, falling, from 1, none, too many
CASES = []

for weights in (num(5), NO_WEIGHTS):
    CASES += [case("RaggedBincount", SPLITS, FEW, Fed(4), weights), case("RaggedBincount", SPLITS, FEW, Fed(3), weights), case("RaggedBincount", SPLITS, FEW, Fed(0), weights)]
CASES += [case("RaggedBincount", SPLITS, FEW, Fed(6), NO_WEIGHTS, binary_output=True), case("RaggedBincount", SPLITS, Fed([1, -1, 3, 1, 2]), Fed(4), NO_WEIGHTS), case("RaggedBincount", SPLITS, FEW, Fed(-1), num(5)), case("RaggedBincount", SPLITS, FEW, Fed(4), num(4))]
CASES += [case("RaggedBincount", wrong, FEW, Fed(4), NO_WEIGHTS) for wrong in WRONG]

for low, high in ((-1, -1), (7, -1), (-1, 2)):
    CASES += [case("RaggedCountSparseOutput", SPLITS, FEW, weights, minlength=low, maxlength=high, binary_output=False) for weights in (num(5), NO_WEIGHTS)]
CASES += [case("RaggedCountSparseOutput", SPLITS, FEW, NO_WEIGHTS, binary_output=True), case("RaggedCountSparseOutput", SPLITS, Fed([1, -1, 3, 1, 2]), NO_WEIGHTS, binary_output=False), case("RaggedCountSparseOutput", SPLITS, FEW, num(4), binary_output=False)]
CASES += [case("RaggedCountSparseOutput", wrong, FEW, NO_WEIGHTS, binary_output=False) for wrong in WRONG]

WORDS, NUMBERS = Typed("string", Fed(["a", "b", "c", "d", "e"])), Typed("int64", Fed([3, 5, 7, 9, 11]))
AT, SHAPE, LETTERS = Fed([[0, 0], [0, 1], [2, 0]]), Fed([3, 2]), Typed("string", Fed(["x", "y", "z"]))
COLUMN, NAMES = Typed("int64", Fed([[11], [12], [13]])), Typed("string", Fed([["p", "q"], ["r", "s"], ["t", "u"]]))
for kind in ("int64", "int32"):
    rows = Typed(kind, SPLITS)
    for ragged, sparse, dense, order in (([WORDS], 0, [], "R"), ([WORDS, NUMBERS], 0, [], "RR"), ([WORDS], 1, [NAMES], "RSD"), ([WORDS], 1, [COLUMN], "DSR"), ([], 1, [NAMES], "DS"), ([], 0, [NAMES, COLUMN], "DD")):
        given = (L(*ragged), L(*[rows] * len(ragged)), L(*[AT] * sparse), L(*[LETTERS] * sparse), L(*[SHAPE] * sparse), L(*dense))
        if kind == "int64" or ragged:
            CASES += [case("RaggedCross", *given, input_order=order, hashed_output=False, num_buckets=0, hash_key=7, out_values_type="string"),
                      case("RaggedCross", *given, input_order=order, hashed_output=True, num_buckets=100, hash_key=956888297470, out_values_type="int64")]
GIVEN = (L(WORDS), L(Typed("int64", SPLITS)), L(), L(), L(), L(NAMES))
PLAIN = dict(hashed_output=False, num_buckets=0, hash_key=7, out_values_type="string")
CASES += [case("RaggedCross", *GIVEN, input_order=order, **PLAIN) for order in ("R", "DR", "RDD", "RDS", "")]
CASES += [case("RaggedCross", *GIVEN, input_order="RD", hashed_output=True, num_buckets=n, hash_key=7, out_values_type="int64") for n in (0, -5)]
CASES += [case("RaggedCross", L(WORDS), L(Typed("int64", wrong)), L(), L(), L(), L(NAMES), input_order="RD", **PLAIN) for wrong in (*WRONG, Fed([0, 5]))]

ROWS = Fed([0, 0, 2])
CASES += [case("RaggedFillEmptyRows", ROWS, num(3), Fed(4), num()), case("RaggedFillEmptyRows", ROWS, num(3), Fed(3), num()), case("RaggedFillEmptyRows", Fed([]), num(0), Fed(2), num()), case("RaggedFillEmptyRows", Fed([]), num(0), Fed(0), num()),
          case("RaggedFillEmptyRows", ROWS, num(3), Fed(2), num()), case("RaggedFillEmptyRows", Fed([0, -1, 2]), num(3), Fed(4), num()), case("RaggedFillEmptyRows", Fed([2, 0, 1]), num(3), Fed(4), num()), case("RaggedFillEmptyRows", ROWS, num(2), Fed(4), num()),
          case("RaggedFillEmptyRows", ROWS, num(3), Fed(4), num(1)), case("RaggedFillEmptyRowsGrad", Fed([0, 1, 3]), num(5)), case("RaggedFillEmptyRowsGrad", Fed([]), num(2)), case("RaggedFillEmptyRowsGrad", Fed([0, 5]), num(5)), case("RaggedFillEmptyRowsGrad", Fed([0, -1]), num(5))]

for values in (num(5), num(5, 2)):
    CASES += [case("RaggedGather", L(SPLITS), values, Fed([2, 0, 0]), OUTPUT_RAGGED_RANK=1), case("RaggedGather", L(SPLITS), values, Fed([[2, 1], [0, 0]]), OUTPUT_RAGGED_RANK=2), case("RaggedGather", L(OUTER, SPLITS), values, Fed([1, 0, 1]), OUTPUT_RAGGED_RANK=2),
              case("RaggedGather", L(SPLITS), values, Fed([]), OUTPUT_RAGGED_RANK=1), case("RaggedTensorToSparse", L(SPLITS), values), case("RaggedTensorToSparse", L(OUTER, SPLITS), values)]
CASES += [case("RaggedGather", L(SPLITS), num(5), Fed(index), OUTPUT_RAGGED_RANK=rank) for index, rank in (([3], 1), ([-1], 1), ([0], 2), (0, 0))]
CASES += [case("RaggedGather", L(wrong), num(5), Fed([0, 1]), OUTPUT_RAGGED_RANK=1) for wrong in WRONG] + [case("RaggedTensorToSparse", L(wrong), num(5)) for wrong in WRONG] + [case("RaggedTensorToSparse", L(Fed([0, 2, 4]), SPLITS), num(5))]

OF_ROWS, OF_IDS = dict(row_partition_types=["ROW_SPLITS"]), dict(row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
CASES += [case("RaggedTensorToTensor", Fed(shape), num(5), num(), L(SPLITS), **OF_ROWS) for shape in ([-1, -1], [2, 2], [4, 6], [3, 0], [-1, 2])] + [case("RaggedTensorToTensor", -1, num(5), num(), L(SPLITS), **OF_ROWS)]
CASES += [case("RaggedTensorToTensor", Fed([-1, -1]), num(5), num(), L(Fed(4), Fed([0, 0, 2, 3, 3])), **OF_IDS), case("RaggedTensorToTensor", Fed([-1, -1, -1]), num(5), num(), L(OUTER, SPLITS), row_partition_types=["ROW_SPLITS"] * 2),
          case("RaggedTensorToTensor", Fed([3, -1, 2]), num(5), num(), L(OUTER, SPLITS), row_partition_types=["ROW_SPLITS"] * 2), case("RaggedTensorToTensor", Fed([-1, -1, 2]), num(5, 2), num(2), L(SPLITS), **OF_ROWS), case("RaggedTensorToTensor", Fed([-1, -1, -1]), num(5, 2), num(), L(SPLITS), **OF_ROWS),
          case("RaggedTensorToTensor", Fed([-1, -1, 3]), num(5, 2), num(), L(SPLITS), **OF_ROWS), case("RaggedTensorToTensor", Fed([-1]), num(5), num(), L(SPLITS), **OF_ROWS), case("RaggedTensorToTensor", Fed([-1, -1]), num(5), num(3), L(SPLITS), **OF_ROWS), case("RaggedTensorToTensor", Fed([-1, -1]), num(5), num(), L(SPLITS), row_partition_types=["OOPS"]),
          case("RaggedTensorToTensor", Fed([-1, -1]), num(5), num(), L(Fed(4), Fed([0, 0, 2, 3, 3])), row_partition_types=["VALUE_ROWIDS", "FIRST_DIM_SIZE"]), case("RaggedTensorToTensor", Fed([-1, -1]), num(5), num(), L(Fed(4), Fed([0, 0, 2, 9, 3])), **OF_IDS)]
CASES += [case("RaggedTensorToTensor", Fed([-1, -1]), num(5), num(), L(wrong), **OF_ROWS) for wrong in WRONG]


def packed(values, *splits, batched=True, kind="$Tvalues", index="$Tsplits"):
    return N("RaggedTensorToVariant", L(*splits), values, batched_input=batched, Tvalues=kind, Tsplits=index)


for values in (num(5), num(5, 2)):
    CASES += [case("RaggedTensorFromVariant", packed(values, SPLITS), input_ragged_rank=0, output_ragged_rank=1), case("RaggedTensorFromVariant", packed(values, SPLITS, batched=False), input_ragged_rank=1, output_ragged_rank=1),
              case("RaggedTensorFromVariant", packed(values, OUTER, SPLITS), input_ragged_rank=1, output_ragged_rank=2), case("RaggedTensorFromVariant", packed(values, OUTER, SPLITS), input_ragged_rank=-1, output_ragged_rank=2),
              case("RaggedTensorFromVariant", packed(values, OUTER, SPLITS, batched=False), input_ragged_rank=2, output_ragged_rank=2), case("RaggedTensorToVariantGradient", packed(values, SPLITS), SPLITS, Fed([5] if values.shape == (5,) else [5, 2]))]
CASES += [case("RaggedTensorFromVariant", packed(num(5), SPLITS), input_ragged_rank=1, output_ragged_rank=2), case("RaggedTensorFromVariant", packed(num(5), SPLITS, kind="float32"), input_ragged_rank=0, output_ragged_rank=1, Tvalues="int32"),
          case("RaggedTensorFromVariant", packed(num(5), SPLITS), input_ragged_rank=0, output_ragged_rank=3)]
CASES += [case("RaggedTensorFromVariant", packed(num(5), wrong), input_ragged_rank=0, output_ragged_rank=1) for wrong in WRONG]
CASES += [case("RaggedTensorToVariantGradient", packed(num(5), SPLITS), Fed([0, 2, 5]), Fed([5])), case("RaggedTensorToVariantGradient", packed(num(5), SPLITS), SPLITS, Fed([4])), case("RaggedTensorToVariantGradient", packed(num(5), SPLITS), SPLITS, Fed([-5]))]
CASES += [case("RaggedRange", Fed([0, 5, 8]), Fed([3, 5, 2]), Fed([1, 1, -2])), case("RaggedRange", Fed(np.zeros((2, 2))), Fed(4), Fed(1)), case("RaggedRange", Fed([0, 2]), Fed([4, 6]), Fed(0))]
