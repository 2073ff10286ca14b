# SPDX-License-Identifier: Apache-2.0
"""Reductions, scans, products, segments, sorting and counting."""
import numpy as np
from cases import Fed, L, case, num, pos, spread

REDUCED = [(spread(2, 3, 4), [1], {}), (spread(2, 3, 4), [0, -1], {"keep_dims": True}), (spread(3), np.zeros(0), {}), (spread(0, 3), [0], {}), (spread(2, 3), [2], {})]
CASES = [case(op, x, axes, **attrs) for op in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm") for x, axes, attrs in REDUCED]
CASES += [case(op, Fed([[True, False], [True, True]]), axes, keep_dims=keep) for op in ("All", "Any") for axes, keep in (([0], False), ([1], True), ([0, 1], False), ([5], False))]
CASES += [case(op, num(3, 4), axis, exclusive=e, reverse=r) for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp") for axis, e, r in ((0, False, False), (1, True, False), (-1, False, True), (0, True, True), (2, False, False))]
CASES += [case(op, spread(3, 4), axis) for op in ("ArgMax", "ArgMin") for axis in (0, 1, -1, 2)]
CASES += [case(op, num(5, 2), Fed([0, 0, 2, 2, 3])) for op in ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin")]
CASES += [case(op, num(3), Fed([0, 2, 1])) for op in ("SegmentSum", "SegmentMax")]
CASES += [case(op, num(5, 2), Fed(ids), n) for op in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin")
          for ids, n in (([3, 0, -1, 0, 2], 4), ([[0, 1], [1, 0], [2, 2], [0, 0], [1, 1]], 3), ([0, 1, 2, 3, 4], 4))]
for kind in ("Sum", "Mean", "SqrtN"):
    CASES += [case(f"SparseSegment{kind}", num(4, 3), Fed([0, 3, 1, 1]), Fed([0, 0, 1, 3])), case(f"SparseSegment{kind}", num(4), Fed([0, 4]), Fed([0, 0])),
              case(f"SparseSegment{kind}WithNumSegments", num(4, 3), Fed([0, 3, 1]), Fed([0, 0, 2]), 5), case(f"SparseSegment{kind}Grad", num(3, 2), Fed([0, 3, 1, 1]), Fed([0, 0, 1, 2]), 4),
              case(f"SparseSegment{kind}GradV2", num(3, 2), Fed([0, 3, 1, 1]), Fed([0, 0, 1, 2]), 5)]
CASES += [
    case("AccumulateNV2", L(num(2, 3), num(2, 3)), shape=[2, 3]), case("AddN", L(num(2, 3))), case("AddN", L(num(2, 3), num(2, 3), num(2, 3))), case("AddN", L(num(2), num(3))),
    case("ApproxTopK", spread(2, 9), k=3, recall_target=1.0, options=("shaped",)), case("ApproxTopK", spread(2, 5, 3), k=2, recall_target=1.0, reduction_dimension=3), case("BatchMatMulV3", num(2, 3, 4), num(2, 4, 2), Ta="float32", Tb="float32", Tout="float32"), case("BatchMatMulV3", num(2, 4), num(4, 3), Ta="int8", Tb="int8", Tout="int32"),
    case("BatchMatMul", num(2, 3, 4), num(2, 5, 4), adj_y=True), case("BatchMatMulV2", num(3, 2, 4), num(4, 3)), case("BatchMatMulV2", num(2, 1, 4, 2), num(3, 4, 3), adj_x=True), case("BatchMatMulV2", num(2, 3), num(2, 3)),
    case("MatMul", num(2, 3), num(3, 4)), case("MatMul", num(3, 2), num(4, 3), transpose_a=True, transpose_b=True), case("MatMul", num(0, 3), num(3, 2)), case("MatMul", num(2, 0), num(0, 3)), case("MatMul", num(2, 3), num(2, 3)),
    case("SparseMatMul", num(2, 3), num(3, 4), a_is_sparse=True), case("SparseMatMul", num(3, 2), num(4, 3), transpose_a=True, transpose_b=True),
    case("Bincount", Fed([1, 3, 3, 7]), 5, pos(4)), case("Bincount", Fed([1, 3, 0]), 4, Fed(np.zeros(0))), case("Bincount", Fed([1, -1]), 4, pos(2)), case("DenseBincount", Fed([1, 3, 3, 7]), 5, pos(4)), case("DenseBincount", Fed([[1, 3], [0, 0]]), 4, Fed(np.zeros(0)), binary_output=True),
    case("SparseBincount", Fed([[0, 0], [1, 1], [1, 0]]), Fed([1, 3, 1]), Fed([2, 2]), 5, pos(3)), case("Cast", num(3, 2), SrcT="float32", DstT="int32"), *[case("Cast", num(4), SrcT=a, DstT=b) for a in ("float32", "int64", "bool", "uint8", "complex64", "float64", "bfloat16", "float16", "int8")
                                                                                                                                for b in ("float64", "float16", "bfloat16", "int32", "uint8", "int16", "complex128", "bool", "int64", "uint32", "uint64", "float32", "int8", "uint16", "complex64")],
    case("Einsum", L(num(2, 3), num(3, 4)), equation="ij,jk->ik"), case("Einsum", L(num(2, 3, 4), num(2, 4)), equation="bij,bj->bi"), case("Einsum", L(num(3, 3)), equation="ii->i"), case("Einsum", L(num(2, 1, 3), num(4, 3, 2)), equation="...ij,...jk->...ik"), case("Einsum", L(num(2, 3)), equation="ij->"),
    case("Einsum", L(num(2, 3), num(4, 2)), equation="ij,jk->ik"), case("HistogramFixedWidth", num(20), [-1, 2], 5), case("HistogramFixedWidth", num(3, 3), [0, 1], 1), case("HistogramFixedWidth", num(3), [1, 1], 3),
    case("InTopK", num(3, 5), Fed([0, 2, 4]), k=2), case("InTopKV2", num(3, 5), Fed([0, 2, 5]), Fed(3)), case("NthElement", spread(3, 6), 2), case("NthElement", spread(7), 0, reverse=True), case("NthElement", spread(3), 3), case("TopK", spread(3, 6), k=2), case("TopKV2", spread(3, 6), 4), case("TopKV2", spread(5), 0),
    case("TopKV2", Fed([[1, 1, 2, 2, 0]]), 3), case("TopKV2", spread(3), 4), *[case(op, Fed([True, False]), Fed([True])) for op in ("LogicalAnd", "LogicalOr")], case("LogicalNot", Fed([[True, False]])), case("CompareAndBitpack", num(2, 16), 0), case("Cross", num(4, 3), num(4, 3)), case("Betainc", pos(3), pos(3), pos(3)),
    case("ClipByValue", num(3, 2), -1, 1, options=("real",)), case("Complex", num(3), num(3)), case("ComplexAbs", num(3)), case("Angle", num(3)), case("Real", num(3)), case("Imag", num(3)), case("ApproximateEqual", Fed([1, 1.00001]), Fed([1, 1.1])), case("LRN", num(2, 2, 2, 7), depth_radius=2), case("LRNGrad", num(1, 2, 2, 5), num(1, 2, 2, 5), pos(1, 2, 2, 5), depth_radius=2),
    case("QuantizeAndDequantizeV2", num(3, 4), -2, 2), case("QuantizeAndDequantizeV2", num(3, 4), [-2, -1, 0, -3], [1, 2, 3, 3], axis=1, range_given=True), case("QuantizeAndDequantizeV3", num(3, 4), -2, 2, 6), case("QuantizeAndDequantizeV4", num(3, 4), -2, 2, range_given=True), case("QuantizeAndDequantizeV4Grad", num(3, 4), num(3, 4), -1, 1),
    case("FakeQuantWithMinMaxArgs", num(3, 4)), case("FakeQuantWithMinMaxArgs", num(3, 4), min=-1.0, max=2.0, num_bits=4, narrow_range=True), case("FakeQuantWithMinMaxArgsGradient", num(3), num(3), min=-1.0, max=1.0), case("FakeQuantWithMinMaxVars", num(3, 4), -1, 1.5), case("FakeQuantWithMinMaxVarsGradient", num(3, 4), num(3, 4), -1, 1.5),
    case("FakeQuantWithMinMaxVarsPerChannel", num(3, 4), [-1, -2, -3, 0], [1, 2, 0.5, 1]), case("FakeQuantWithMinMaxVarsPerChannelGradient", num(3, 4), num(3, 4), [-1, -2, -3, 0], [1, 2, 0.5, 1]), case("FakeQuantWithMinMaxVars", num(3), 2, 1), case("TridiagonalMatMul", num(1, 4), num(1, 4), num(1, 4), num(4, 3)), case("RequantizationRange", Fed([1, 5]), -1, 1, options=("shapes",)),
    case("RFFT", num(3, 8), [8]), case("RFFT", num(8), [5]), case("RFFT2D", num(2, 6, 8), [6, 8]), case("RFFT3D", num(4, 4, 6), [4, 4, 6]), case("IRFFT", num(3, 5), [8]), case("IRFFT2D", num(6, 5), [6, 8]), case("IRFFT3D", num(4, 4, 4), [4, 4, 6]), case("RFFT", num(), [3]), case("FFT", num(2, 6)), case("IFFT", num(7)), case("FFT2D", num(3, 4)), case("IFFT2D", num(2, 3, 4)),
    case("FFT3D", num(2, 3, 4)), case("IFFT3D", num(2, 3, 4)), case("SparseSoftmaxCrossEntropyWithLogits", num(3, 4), Fed([0, 3, 1])), case("SparseSoftmaxCrossEntropyWithLogits", num(3, 4), Fed([0, 4, 1]), options=("out of range",)), case("SoftmaxCrossEntropyWithLogits", num(3, 4), pos(3, 4)), case("SoftmaxCrossEntropyWithLogits", num(3, 4), pos(1, 4)),
]
