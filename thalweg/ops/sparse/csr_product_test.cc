// SPDX-License-Identifier: Apache-2.0
// Expected values as TensorFlow 2.21 gives them. Gradients: python/tests/test_sparse_matrix.py.
#include "thalweg/ops/sparse/test_csr.h"

namespace thalweg {
namespace {

using C = std::complex<float>;
const Tensor kFour = Numbers<float>({0, 1, 2, 3, 4, 5, 6, 7}, Shape{4, 2});
const Tensor kThree = Numbers<float>({0, 1, 2, 3, 4, 5}, Shape{3, 2});
const AttrMap kFloatProduct = {{"type", DType::kFloat}};

TEST(CsrProductTest, Transposes) {
  ExpectCsr<float>(FirstOutput("SparseMatrixTranspose", {OneCsr()}, kFloatProduct), 0,
                   {0, 1, 2, 2, 3}, {2, 0, 2}, {2, 1, 3});
  ExpectCsr<C>(FirstOutput("SparseMatrixTranspose", {ComplexCsr()},
                           {{"type", DType::kComplex64}, {"conjugate", true}}),
               0, {0, 1, 2, 2, 3}, {2, 0, 2}, {C(2, -4), C(1, -2), C(3, -6)});
  const Tensor turned = FirstOutput("SparseMatrixTranspose", {TwoCsr()}, kFloatProduct);
  ExpectCsr<float>(turned, 0, {0, 1, 2, 2, 2}, {2, 0}, {2, 1});
  ExpectCsr<float>(turned, 1, {0, 0, 0, 0, 1}, {2}, {3});
  ExpectError("SparseMatrixTranspose", {OneCsr()}, {{"type", DType::kDouble}},
              Code::kInvalidArgument, "saw dtype");
}

TEST(CsrProductTest, MultipliesDenseMatrices) {
  const auto expect = [](const std::vector<Tensor>& inputs, const AttrMap& attrs,
                         const Tensor& expected) {
    ExpectOutputs("SparseMatrixMatMul", inputs, attrs, {expected});
  };
  const Tensor product = Numbers<float>({2, 3, 0, 0, 18, 23}, Shape{3, 2});
  expect({OneCsr(), kFour}, {}, product);
  expect({OneCsr(), kThree}, {{"transpose_a", true}},
         Numbers<float>({8, 10, 0, 1, 0, 0, 12, 15}, Shape{4, 2}));
  expect({OneCsr(), Numbers<float>({0, 2, 4, 6, 1, 3, 5, 7}, Shape{2, 4})}, {{"transpose_b", true}},
         product);
  expect({OneCsr(), kFour}, {{"transpose_output", true}},
         Numbers<float>({2, 0, 18, 3, 0, 23}, Shape{2, 3}));
  expect(
      {TwoCsr(), Numbers<float>({0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 8}, Shape{2, 4, 2})},
      {}, Numbers<float>({2, 3, 0, 0, 0, 2, 0, 0, 0, 0, 21, 24}, Shape{2, 3, 2}));
}

TEST(CsrProductTest, ConjugatesWhatIsAsked) {
  const auto column = [](int64_t n) {
    std::vector<C> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(C(0, static_cast<float>(i + 1)));
    return values;
  };
  const auto product = [&](const Tensor& b, const AttrMap& attrs) {
    const Tensor made = FirstOutput("SparseMatrixMatMul", {ComplexCsr(), b}, attrs);
    return std::vector<C>(made.data<C>(), made.data<C>() + made.num_elements());
  };
  const Tensor four = Numbers<C>(column(4), Shape{4, 1}), row = Numbers<C>(column(4), Shape{1, 4});
  const C first = C(1, 2) * C(0, 2), third = C(2, 4) * C(0, 1) + C(3, 6) * C(0, 4);
  EXPECT_EQ(product(four, {}), (std::vector<C>{first, C(0), third}));
  EXPECT_EQ(product(row, {{"transpose_b", true}}), (std::vector<C>{first, C(0), third}));
  EXPECT_EQ(product(four, {{"conjugate_output", true}}),
            (std::vector<C>{std::conj(first), C(0), std::conj(third)}));
  EXPECT_EQ(product(row, {{"adjoint_b", true}}), (std::vector<C>{-first, C(0), -third}));
  const Tensor three = Numbers<C>(column(3), Shape{3, 1});
  EXPECT_EQ(product(three, {{"adjoint_a", true}}),
            (std::vector<C>{C(2, -4) * C(0, 3), C(1, -2) * C(0, 1), C(0), C(3, -6) * C(0, 3)}));
}

TEST(CsrProductTest, MultipliesSparseMatrices) {
  const auto product = [](const Tensor& a, const Tensor& b, AttrMap attrs = {},
                          DType dtype = DType::kFloat) {
    attrs.Set("type", dtype);
    return FirstOutput("SparseMatrixSparseMatMul", {a, b}, attrs);
  };
  ExpectCsr<float>(product(OneCsr(), Csr<float>({0, 0, 1, 1, 3, 0}, {1, 2, 3}, {4, 2})), 0,
                   {0, 1, 1, 2}, {1, 0}, {2, 11});
  ExpectCsr<float>(product(OneCsr(), OneCsr(), {{"transpose_b", true}}), 0, {0, 1, 1, 2}, {0, 2},
                   {1, 13});
  ExpectCsr<float>(product(OneCsr(), OneCsr(), {{"transpose_a", true}}), 0, {0, 2, 3, 3, 5},
                   {0, 3, 1, 0, 3}, {4, 6, 1, 6, 9});
  ExpectCsr<C>(product(ComplexCsr(), ComplexCsr(), {{"adjoint_b", true}}, DType::kComplex64), 0,
               {0, 1, 1, 2}, {0, 2}, {C(5, 0), C(65, 0)});
  ExpectCsr<float>(product(TwoCsr(), TwoCsr(), {{"transpose_b", true}}), 1, {0, 0, 0, 1}, {2}, {9});
  // A sum that is zero stays in its place.
  ExpectCsr<float>(
      product(Csr<float>({0, 0, 0, 1}, {1, 2}, {1, 2}), Csr<float>({0, 0, 1, 0}, {2, -1}, {2, 1})),
      0, {0, 1}, {0}, {0});
}

TEST(CsrProductTest, Conjugate) {
  using C = std::complex<float>;
  ExpectCsr<C>(FirstOutput("Conj", {ComplexCsr()}), 0, {0, 1, 1, 3}, {1, 0, 3},
               {C(1, -2), C(2, -4), C(3, -6)});
  ExpectError("AddN", {OneCsr(), OneCsr()}, {}, Code::kUnimplemented,
              "tensorflow::CSRSparseMatrix has no ADD");
}

TEST(CsrProductTest, RefusesWhatDoesNotFit) {
  const auto refuse = [](std::string_view op, const std::vector<Tensor>& inputs,
                         const AttrMap& attrs, std::string_view message) {
    ExpectError(op, inputs, attrs, Code::kInvalidArgument, message);
  };
  refuse("SparseMatrixMatMul", {OneCsr(), kThree}, {}, "Inner product dimensions");
  refuse("SparseMatrixMatMul", {OneCsr(), Numbers<float>({1}, Shape{1, 1, 1})}, {}, "Ranks of a");
  refuse("SparseMatrixMatMul", {TwoCsr(), Numbers<float>({1, 1, 1, 1}, Shape{1, 4, 1})}, {},
         "Batch sizes");
  refuse("SparseMatrixMatMul", {OneCsr(), kFour}, {{"transpose_a", true}, {"adjoint_a", true}},
         "Only one of");
  refuse("SparseMatrixMatMul", {ComplexCsr(), kFour}, {}, "saw dtype");
  refuse("SparseMatrixSparseMatMul", {OneCsr(), OneCsr()}, kFloatProduct,
         "Inner product dimensions");
  refuse("SparseMatrixSparseMatMul", {TwoCsr(), OneCsr()}, kFloatProduct, "Ranks and batch sizes");
}

}  // namespace
}  // namespace thalweg
