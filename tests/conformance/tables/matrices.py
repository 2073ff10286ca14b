# SPDX-License-Identifier: Apache-2.0
"""Matrices in compressed rows; sparse tensors in strings and in maps."""
from cases import Fed, N, case, num

AT, SHAPE = Fed([[0, 1], [1, 0], [1, 3], [2, 2]]), Fed([3, 4])
BATCHED, BATCHES = Fed([[0, 0, 1], [0, 2, 2], [1, 1, 0], [1, 1, 3]]), Fed([2, 3, 4])
CASES = []


def matrix(at=AT, shape=SHAPE, kind="$type", values=None):
    return N("SparseTensorToCSRSparseMatrix", at, num(4) if values is None else values, shape, T=kind)


for at, shape, batch in ((AT, SHAPE, ()), (BATCHED, BATCHES, (2,))):
    m = matrix(at, shape)
    CASES += [case("CSRSparseMatrixToDense", m), case("CSRSparseMatrixToSparseTensor", m), case("CSRSparseMatrixComponents", m, Fed(1 if batch else 0)), case("CSRSparseMatrixComponents", m, Fed(2)), case("SparseMatrixNNZ", matrix(at, shape, "float32")),
              case("CSRSparseMatrixToDense", N("SparseMatrixTranspose", m, type="$type", conjugate=True)), case("CSRSparseMatrixToDense", N("DenseToCSRSparseMatrix", num(*batch, 3, 4), at, T="$type"))]
    for t, attrs in ((False, {}), (True, dict(transpose_a=True)), (True, dict(adjoint_a=True))):
        CASES.append(case("SparseMatrixMatMul", matrix(at, shape, "$T"), num(*batch, 3 if t else 4, 2), **attrs))
    CASES += [case("SparseMatrixMatMul", matrix(at, shape, "$T"), num(*batch, 2, 4), transpose_b=True), case("SparseMatrixMatMul", matrix(at, shape, "$T"), num(*batch, 4, 2), transpose_output=True), case("SparseMatrixMatMul", matrix(at, shape, "$T"), num(*batch, 2, 2))]
    other = matrix(at, shape)
    CASES += [case("CSRSparseMatrixToDense", N("SparseMatrixSparseMatMul", m, other, type="$type", transpose_a=True)), case("CSRSparseMatrixToDense", N("SparseMatrixSparseMatMul", m, other, type="$type", adjoint_b=True)),
              case("CSRSparseMatrixToDense", N("SparseMatrixSparseMatMul", m, other, type="$type"))]
CASES += [case("CSRSparseMatrixToDense", matrix(Fed([[0, 1], [1, 0], [1, 4], [2, 2]]))), case("CSRSparseMatrixToDense", matrix(shape=Fed([12]))), case("CSRSparseMatrixToDense", matrix(values=num(3)))]

I3, S = Fed([[0, 1], [1, 0], [2, 3]]), Fed([3, 4])
packed = N("SerializeSparse", I3, num(3), S, T="$dtype")
rows = N("SerializeManySparse", I3, num(3), S, T="$dtype")
kept = N("AddManySparseToTensorsMap", I3, num(3), S, T="$dtype", shared_name="kept")
CASES += [case("DeserializeSparse", packed), case("DeserializeManySparse", rows), case("TakeManySparseFromTensorsMap", kept, shared_name="kept"),
          case("SerializeSparse", I3, num(3), S, options=("shapes",)), case("SerializeManySparse", I3, num(3), S, options=("shapes",)), case("AddManySparseToTensorsMap", I3, num(3), S), case("AddSparseToTensorsMap", I3, num(3), S),
          case("DeserializeSparse", Fed(["a", "b", "c"]), dtype="float32"), case("DeserializeManySparse", Fed([["a", "b", "c"]]), dtype="float32"), case("TakeManySparseFromTensorsMap", Fed([7]), dtype="float32", shared_name="none")]

PAIRS, SQUARE = Fed([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [2, 3], [3, 2], [3, 3]]), Fed([4, 4])
ARROW = Fed([[0, 0], [0, 3], [1, 1], [1, 3], [2, 2], [2, 3], [3, 0], [3, 1], [3, 2], [3, 3]])
definite, flat = matrix(PAIRS, SQUARE, values=Fed([4, 1, 1, 3, 5, 2, 2, 6])), matrix(PAIRS, SQUARE, values=Fed([1, 2, 2, 1, 5, 2, 2, 6]))
arrow = matrix(ARROW, SQUARE, values=Fed([4, 1, 5, 1, 6, 1, 1, 1, 1, 7]))
for m, order in ((definite, Fed([0, 1, 2, 3])), (definite, Fed([3, 0, 2, 1])), (arrow, Fed([3, 2, 1, 0])), (arrow, N("SparseMatrixOrderingAMD", arrow)), (flat, Fed([0, 1, 2, 3])), (definite, Fed([0, 1, 2])), (definite, Fed([0, 1, 1, 3])), (definite, Fed([0, 1, 2, 9]))):
    CASES.append(case("CSRSparseMatrixToDense", N("SparseMatrixSparseCholesky", m, order, type="$type")))
for m in (matrix(ARROW, SQUARE, "float32", Fed([4, 1, 5, 1, 6, 1, 1, 1, 1, 7])), matrix(PAIRS, SQUARE, "float64", Fed([4, 1, 1, 3, 5, 2, 2, 6])), matrix(kind="float32")):
    CASES.append(case("SparseMatrixOrderingAMD", m))
