// SPDX-License-Identifier: Apache-2.0
// Expected values as TensorFlow 2.21 gives them; factors also against what they must multiply to.
#include <cmath>
#include <random>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/sparse/test_csr.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/test_machine.h"

namespace thalweg {
namespace {

using Rows = std::vector<std::vector<double>>;
// An arrow: its first row and column are full.
const Rows kArrow = {
    {9, 1, 1, 1, 1}, {1, 4, 0, 0, 0}, {1, 0, 4, 0, 0}, {1, 0, 0, 4, 0}, {1, 0, 0, 0, 4}};

// Places, values and shape.
template <class T>
std::vector<Tensor> Sparse(const std::vector<int64_t>& places, const std::vector<T>& values,
                           const std::vector<int64_t>& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  return {Numbers<int64_t>(places, Shape{static_cast<int64_t>(values.size()), rank}),
          Numbers<T>(values), Numbers<int64_t>(shape)};
}

// check(outputs) sees the order of a matrix's rows and, as a dense matrix, its factor in that
// order; all in one graph.
template <class F>
void WithOrderAndFactor(const std::vector<Tensor>& sparse, bool factor, const F& check) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  const Output matrix = b.Op("SparseTensorToCSRSparseMatrix",
                             {b.Const(sparse[0]), b.Const(sparse[1]), b.Const(sparse[2])});
  const Output order = b.Op("SparseMatrixOrderingAMD", {matrix});
  std::vector<Output> fetches = {order};
  if (factor) {
    const AttrMap attrs = {{"type", sparse[1].dtype()}};
    const Output l = b.Op("SparseMatrixSparseCholesky", {matrix, order}, attrs);
    fetches.push_back(b.Op("CSRSparseMatrixToDense", {l}, attrs));
  }
  EXPECT_TRUE(b.ok()) << b.status().ToString();
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  const auto out = runner.Run({}, fetches);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  check(*out);
}

std::vector<Tensor> SparseOf(const std::vector<Rows>& batch) {
  std::vector<int64_t> places;
  std::vector<double> values;
  for (size_t b = 0; b < batch.size(); ++b) {
    for (size_t i = 0; i < batch[b].size(); ++i) {
      for (size_t j = 0; j < batch[b][i].size(); ++j) {
        if (batch[b][i][j] == 0) continue;
        if (batch.size() > 1) places.push_back(static_cast<int64_t>(b));
        places.push_back(static_cast<int64_t>(i));
        places.push_back(static_cast<int64_t>(j));
        values.push_back(batch[b][i][j]);
      }
    }
  }
  std::vector<int64_t> shape;
  if (batch.size() > 1) shape.push_back(static_cast<int64_t>(batch.size()));
  shape.push_back(static_cast<int64_t>(batch[0].size()));
  shape.push_back(batch[0].empty() ? 0 : static_cast<int64_t>(batch[0][0].size()));
  return Sparse<double>(places, values, shape);
}
Tensor CsrOf(const std::vector<Rows>& batch) {
  return FirstOutput("SparseTensorToCSRSparseMatrix", SparseOf(batch));
}
Rows Unit(size_t n) {
  Rows rows(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) rows[i][i] = 1;
  return rows;
}

TEST(CsrFactorTest, OrdersOfMinimumDegree) {
  const auto expect = [](const std::vector<Rows>& batch, const Tensor& order) {
    WithOrderAndFactor(SparseOf(batch), false, [&](const std::vector<Tensor>& out) {
      EXPECT_EQ(BitDifference(out[0], order), "");
    });
  };
  expect({kArrow}, Numbers<int32_t>({1, 2, 3, 4, 0}));
  expect({kArrow, Unit(5)}, Numbers<int32_t>({1, 2, 3, 4, 0, 0, 1, 2, 3, 4}, Shape{2, 5}));
  expect({{{1, 0, 0, 0, 0, 0, 0, 1},
           {0, 1, 0, 0, 1, 0, 0, 0},
           {0, 0, 1, 1, 0, 0, 1, 1},
           {0, 0, 1, 1, 0, 0, 1, 0},
           {0, 1, 0, 0, 1, 0, 0, 0},
           {0, 0, 0, 0, 0, 1, 0, 0},
           {0, 0, 1, 1, 0, 0, 1, 1},
           {1, 0, 1, 0, 0, 0, 1, 1}}},
         Numbers<int32_t>({0, 7, 3, 6, 2, 1, 4, 5}));
  expect({{{1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0},
           {0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1},
           {0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1},
           {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
           {0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0},
           {1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0},
           {1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1},
           {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
           {1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0},
           {1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1},
           {1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0},
           {0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1}}},
         Numbers<int32_t>({4, 5, 10, 0, 8, 2, 6, 9, 11, 1, 3, 7}));
  expect({Unit(1)}, Numbers<int32_t>({0}));
  expect({Rows()}, Numbers<int32_t>({}));
  expect({{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, Numbers<int32_t>({0, 1, 2}));
  // A place may come twice and columns in any order: only the pattern counts.
  ExpectOutputs("SparseMatrixOrderingAMD",
                {Csr<float>({0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 2, 2}, {1, 2, 3, 4, 5, 6}, {3, 3})}, {},
                {FirstOutput("SparseMatrixOrderingAMD",
                             {Csr<float>({0, 0, 1, 0, 1, 1, 2, 2}, {1, 1, 1, 1}, {3, 3})})});
}

const AttrMap kDoubles = {{"type", DType::kDouble}};
Tensor Factor(const Tensor& matrix, const Tensor& order, DType dtype = DType::kDouble) {
  return FirstOutput("SparseMatrixSparseCholesky", {matrix, order}, {{"type", dtype}});
}

TEST(CsrFactorTest, FactorsOfAnArrow) {
  const Tensor last_first = Numbers<int32_t>({4, 3, 2, 1, 0});
  const double corner = std::sqrt(8.0);
  ExpectCsr<double>(Factor(CsrOf({kArrow}), last_first), 0, {0, 1, 2, 3, 4, 9},
                    {0, 1, 2, 3, 0, 1, 2, 3, 4}, {2, 2, 2, 2, .5, .5, .5, .5, corner});
  // The part above the diagonal does not count.
  Rows lower = kArrow;
  for (size_t j = 1; j < 5; ++j) lower[0][j] = 77;
  ExpectCsr<double>(Factor(CsrOf({lower}), last_first), 0, {0, 1, 2, 3, 4, 9},
                    {0, 1, 2, 3, 0, 1, 2, 3, 4}, {2, 2, 2, 2, .5, .5, .5, .5, corner});
  // In the given order every row is full.
  const Tensor full = Factor(CsrOf({kArrow}), Numbers<int32_t>({0, 1, 2, 3, 4}));
  ExpectOutputs("SparseMatrixNNZ", {full}, {}, {Tensor::Scalar(int32_t{15})});
  const Tensor two = Factor(CsrOf({kArrow, Unit(5)}),
                            Numbers<int32_t>({4, 3, 2, 1, 0, 0, 1, 2, 3, 4}, Shape{2, 5}));
  ExpectCsr<double>(two, 0, {0, 1, 2, 3, 4, 9}, {0, 1, 2, 3, 0, 1, 2, 3, 4},
                    {2, 2, 2, 2, .5, .5, .5, .5, corner});
  ExpectCsr<double>(two, 1, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}, {1, 1, 1, 1, 1});
  ExpectCsr<double>(Factor(CsrOf({Rows()}), Numbers<int32_t>({})), 0, {0}, {}, {});
}

// The elements of m m^H.
template <class T>
std::vector<T> TimesAdjoint(const T* m, int64_t n) {
  std::vector<T> product;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T& sum = product.emplace_back();
      for (int64_t k = 0; k < n; ++k) {
        if constexpr (std::is_floating_point_v<T>) {
          sum += m[i * n + k] * m[j * n + k];
        } else {
          sum += m[i * n + k] * std::conj(m[j * n + k]);
        }
      }
    }
  }
  return product;
}

// l l^H must be the matrix, its rows and columns in the given order.
template <class T>
void ExpectProduct(int64_t n, unsigned seed, double tolerance) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> root(static_cast<size_t>(n * n));
  for (T& value : root) {
    if (random() % 5 != 0) continue;
    value = static_cast<T>(normal(random));
    if constexpr (!std::is_floating_point_v<T>) value += T(0, 1) * static_cast<T>(normal(random));
  }
  std::vector<T> a = TimesAdjoint(root.data(), n), values;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < n; ++i) a[static_cast<size_t>(i * n + i)] += static_cast<T>(n);
  for (int64_t i = 0; i < n * n; ++i) {
    if (a[static_cast<size_t>(i)] == T(0)) continue;
    places.insert(places.end(), {i / n, i % n});
    values.push_back(a[static_cast<size_t>(i)]);
  }
  WithOrderAndFactor(Sparse<T>(places, values, {n, n}), true, [&](const std::vector<Tensor>& out) {
    const int32_t* const row = out[0].data<int32_t>();
    const T* const factor = out[1].data<T>();
    const std::vector<T> product = TimesAdjoint(factor, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const T wanted = a[static_cast<size_t>(row[i] * n + row[j])];
        EXPECT_LT(std::abs(product[static_cast<size_t>(i * n + j)] - wanted), tolerance);
        if (j > i) {
          EXPECT_EQ(factor[i * n + j], T(0));
        }
      }
    }
  });
}

TEST(CsrFactorTest, FactorsMultiplyToTheMatrix) {
  for (const int64_t n : {1, 2, 17, 40}) {
    ExpectProduct<float>(n, 1, 1e-4);
    ExpectProduct<double>(n, 2, 1e-11);
    ExpectProduct<std::complex<float>>(n, 3, 1e-4);
    ExpectProduct<std::complex<double>>(n, 4, 1e-11);
  }
}

TEST(CsrFactorTest, Refusals) {
  const auto refuse = [](const Tensor& matrix, const Tensor& order, std::string_view message) {
    ExpectError("SparseMatrixSparseCholesky", {matrix, order}, kDoubles, Code::kInvalidArgument,
                message);
  };
  const Tensor arrow = CsrOf({kArrow}), order = Numbers<int32_t>({0, 1, 2, 3, 4});
  ExpectError("SparseMatrixOrderingAMD", {CsrOf({{{1, 1, 1}, {1, 1, 1}}})}, {},
              Code::kInvalidArgument, "must be square; got: 2 != 3");
  refuse(CsrOf({{{1, 1, 1}, {1, 1, 1}}}), Numbers<int32_t>({0, 1}), "must be square");
  refuse(arrow, Numbers<int32_t>({0, 1}), "got: 2 != 5");
  refuse(arrow, Numbers<int32_t>({0, 1, 2, 3, 4}, Shape{1, 5}), "same rank");
  refuse(CsrOf({kArrow, Unit(5)}), order, "same rank");
  refuse(CsrOf({kArrow, Unit(5)}), Numbers<int32_t>({0, 1, 2, 3, 4}, Shape{1, 5}), "batch size");
  for (const int32_t wrong : {-1, 1, 5}) {
    refuse(arrow, Numbers<int32_t>({0, wrong, 2, 3, wrong == 1 ? 1 : 4}), "once");
  }
  Rows negative = kArrow;
  negative[3][3] = -4;
  refuse(CsrOf({negative}), order, "factorization failed for batch index 0");
  refuse(CsrOf({{{0, 0}, {0, 0}}}), Numbers<int32_t>({0, 1}), "factorization failed");
  ExpectError("SparseMatrixSparseCholesky", {arrow, order}, {{"type", DType::kFloat}},
              Code::kInvalidArgument, "saw dtype");
}

}  // namespace
}  // namespace thalweg
