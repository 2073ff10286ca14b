// SPDX-License-Identifier: Apache-2.0
// Expected values as TensorFlow 2.21 gives them. Gradients: python/tests/test_sparse_matrix.py.
#include "thalweg/ops/sparse/test_csr.h"

namespace thalweg {
namespace {

const AttrMap kFloats = {{"type", DType::kFloat}};

TEST(CsrConvertTest, ComponentsOfEachMatrix) {
  ExpectCsr<float>(OneCsr(), 0, {0, 1, 1, 3}, {1, 0, 3}, {1, 2, 3});
  ExpectCsr<float>(TwoCsr(), 0, {0, 1, 1, 2}, {1, 0}, {1, 2});
  ExpectCsr<float>(TwoCsr(), 1, {0, 0, 0, 1}, {3}, {3});
  for (int32_t index : {-1, 1}) {
    ExpectError("CSRSparseMatrixComponents", {OneCsr(), Tensor::Scalar(index)}, kFloats,
                Code::kInvalidArgument, "not in [0, 1)");
  }
  ExpectOutputs("SparseMatrixNNZ", {OneCsr()}, {}, {Tensor::Scalar(int32_t{3})});
  ExpectOutputs("SparseMatrixNNZ", {TwoCsr()}, {}, {Numbers<int32_t>({2, 1})});
}

TEST(CsrConvertTest, ThereAndBack) {
  ExpectOutputs("CSRSparseMatrixToDense", {OneCsr()}, kFloats,
                {Numbers<float>({0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 3}, Shape{3, 4})});
  ExpectOutputs("CSRSparseMatrixToSparseTensor", {TwoCsr()}, kFloats,
                {Numbers<int64_t>({0, 0, 1, 0, 2, 0, 1, 2, 3}, Shape{3, 3}),
                 Numbers<float>({1, 2, 3}), Numbers<int64_t>({2, 3, 4})});
  const Tensor dense = Numbers<double>({0, 1, 0, 2, 0, 3}, Shape{2, 3});
  ExpectCsr<double>(
      FirstOutput("DenseToCSRSparseMatrix", {dense, Numbers<int64_t>({0, 1, 1, 2}, Shape{2, 2})}),
      0, {0, 1, 2}, {1, 2}, {1, 3});
  ExpectCsr<float>(Csr<float>({}, {}, {0, 4}), 0, {0}, {}, {});
}

TEST(CsrConvertTest, RefusesWhatIsNoMatrix) {
  const auto refuse = [](const std::vector<int64_t>& places, const std::vector<int64_t>& shape,
                         std::string_view message) {
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t count = static_cast<int64_t>(places.size()) / rank;
    ExpectError("SparseTensorToCSRSparseMatrix",
                {Numbers<int64_t>(places, Shape{count, rank}),
                 *Tensor::AllocateHost(DType::kFloat, Shape{count}), Numbers<int64_t>(shape)},
                {}, Code::kInvalidArgument, message);
  };
  refuse({0, 9}, {3, 4}, "out of bounds");
  refuse({-1, 0}, {3, 4}, "out of bounds");
  refuse({1, 0, 0, 0}, {3, 4}, "out of order");
  refuse({1, 0, 0, 0, 0, 0}, {2, 3, 4}, "out of order");
  refuse({0, 0}, {4}, "rank 2 or 3");
  refuse({0, 0}, {3, int64_t{1} << 40}, "at most");
  refuse({0, 0}, {3, -1}, "must be >= 0");
  const Tensor dense = Numbers<float>({1, 2, 3, 4}, Shape{2, 2});
  ExpectError("DenseToCSRSparseMatrix", {dense, Numbers<int64_t>({0, 2}, Shape{1, 2})}, {},
              Code::kInvalidArgument, "does not index into");
  ExpectError("DenseToCSRSparseMatrix", {dense, Numbers<int64_t>({0}, Shape{1, 1})}, {},
              Code::kInvalidArgument, "must be equal to the rank");
  ExpectError("DenseToCSRSparseMatrix", {Numbers<float>({1}), Numbers<int64_t>({0}, Shape{1, 1})},
              {}, Code::kInvalidArgument, "rank == 2 or 3");
  ExpectError("CSRSparseMatrixToDense", {OneCsr()}, {{"type", DType::kDouble}},
              Code::kInvalidArgument, "saw dtype");
  ExpectError("SparseMatrixNNZ", {Tensor::Scalar(Variant())}, {}, Code::kInvalidArgument,
              "holds a sparse matrix");
}

}  // namespace
}  // namespace thalweg
