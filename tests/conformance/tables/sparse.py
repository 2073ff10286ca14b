# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors and sets."""
import numpy as np
from cases import Fed, L, case, num, pos

I3, S = Fed([[0, 1], [1, 0], [2, 3]]), Fed([3, 4])
J3 = Fed([[0, 1], [1, 2], [2, 0]])
NONE = Fed(np.zeros((0, 2)))
CASES = [
    case("SparseAdd", I3, num(3), S, J3, num(3), S, 0), case("SparseAdd", I3, num(3), S, J3, num(3), S, 1.5), case("SparseAddGrad", num(4), I3, J3, Fed([[0, 1], [1, 0], [1, 2], [2, 0]]), options=("loose",)), case("SparseAdd", I3, num(3), S, J3, num(3), Fed([3, 5]), 0),
    case("SparseConcat", L(I3, J3), L(num(3), num(3)), L(S, S), concat_dim=1), case("SparseConcat", L(I3, J3), L(num(3), num(3)), L(S, S), concat_dim=-2), case("SparseDenseCwiseAdd", I3, num(3), S, num(3, 4)), case("SparseDenseCwiseMul", I3, num(3), S, num(4)), case("SparseDenseCwiseDiv", I3, num(3), S, pos(3, 1)),
    case("SparseFillEmptyRows", Fed([[0, 1], [2, 3]]), num(2), Fed([4, 4]), num()), case("SparseFillEmptyRowsGrad", Fed([0, 2]), num(4)), case("SparseReorder", Fed([[2, 0], [0, 1], [1, 1]]), num(3), S), case("SparseReshape", I3, S, Fed([2, -1])), case("SparseReshape", I3, S, Fed([5, -1])),
    *[case(f"SparseReduce{op}", I3, num(3), S, axes, keep_dims=k) for op in ("Max", "Sum", "MaxSparse", "SumSparse") for axes, k in ((Fed([1]), False), (Fed([0, 1]), True), (Fed([-1]), True), (Fed([2]), False))],
    case("SparseSlice", I3, num(3), S, Fed([1, 0]), Fed([2, 4])), case("SparseSliceGrad", num(2), I3, Fed([1, 0]), Fed([[0, 0], [1, 3]])), case("SparseSoftmax", I3, num(3), S), case("SparseSparseMaximum", I3, num(3), S, J3, num(3), S), case("SparseSparseMinimum", I3, num(3), S, J3, num(3), S),
    case("SparseSplit", Fed(1), I3, num(3), S, num_split=2), case("SparseTensorDenseAdd", I3, num(3), S, num(3, 4)), case("SparseTensorDenseMatMul", I3, num(3), S, num(4, 2)), case("SparseTensorDenseMatMul", I3, num(3), S, num(2, 3), adjoint_a=True, adjoint_b=True), case("SparseTensorDenseMatMul", Fed([[0, 4]]), num(1), S, num(4, 2)),
    case("SparseToDense", I3, S, num(3), num()), case("SparseToDense", Fed([1, 3]), Fed([5]), num(), 0), case("SparseToDense", Fed([[1, 0], [0, 0]]), S, num(2), 0), case("SparseToDense", Fed([[0, 9]]), S, num(1), 0), case("SparseToDense", NONE, S, num(0), 2),
    *[case("DenseToDenseSetOperation", Fed([[1, 2, 2], [3, 4, 5]]), Fed([[2, 9], [5, 4]]), set_operation=o) for o in ("a-b", "b-a", "intersection", "union", "oops")], *[case("DenseToSparseSetOperation", Fed([[1, 2], [3, 4], [5, 6]]), I3, Fed([2, 3, 9]), S, set_operation=o) for o in ("a-b", "union")],
    *[case("SparseToSparseSetOperation", I3, Fed([1, 2, 3]), S, J3, Fed([1, 5, 3]), S, set_operation=o) for o in ("a-b", "b-a", "intersection", "union")], case("SetSize", Fed([[0, 0], [0, 1], [1, 0]]), Fed([1, 1, 2]), Fed([2, 2])),
]
