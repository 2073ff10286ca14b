// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

AttrMap Adjoint(bool a, bool b) { return {{"adjoint_a", a}, {"adjoint_b", b}}; }

constexpr auto kProduct = [](auto& r) {
  using V = std::remove_cvref_t<decltype(r.in[3][0])>;
  const auto conj = [](const V& x) {
    if constexpr (requires { x.imag(); }) return std::conj(x);
    if constexpr (!requires { x.imag(); }) return x;
  };
  const auto turned = [&](const Array<V>& x, bool turn) {
    if (!turn) return x;
    Array<V> y(Shape{x.shape.dim(1), x.shape.dim(0)});
    for (int64_t i = 0; i < x.shape.dim(0); ++i) {
      for (int64_t j = 0; j < x.shape.dim(1); ++j) y.At({j, i}) = conj(x.At({i, j}));
    }
    return y;
  };
  const Array<V> a = turned(Dense(r.in[0], r.in[1], r.in[2]), r.template Attr<bool>("adjoint_a"));
  const Array<V> b = turned(r.in[3], r.template Attr<bool>("adjoint_b"));
  Array<V> y(Shape{a.shape.dim(0), b.shape.dim(1)});
  for (int64_t i = 0; i < a.shape.dim(0); ++i) {
    for (int64_t j = 0; j < b.shape.dim(1); ++j) {
      for (int64_t k = 0; k < b.shape.dim(0); ++k) y.At({i, j}) += a.At({i, k}) * b.At({k, j});
    }
  }
  r.out = {y};
};

TEST(SparseDenseTest, Products) {
  const In places = In({4, 2}, {0, 1, 1, 0, 1, 3, 0, 1}), shape = In({2}, {2, 4});
  OpCase("SparseTensorDenseMatMul")
      .Reference(kProduct)
      .GradInputs({1, 3})
      .Try({places, In({4}), shape, In({4, 3})})
      .Try({places, In({4}), shape, In({2, 70})}, Adjoint(true, false))
      .Try({places, In({4}), shape, In({3, 4})}, Adjoint(false, true))
      .Try({places, In({4}), shape, In({3, 2})}, Adjoint(true, true))
      .Try({In({0, 2}, {}), In({0}), shape, In({4, 3})})
      .Trivial("no values, no product")
      .Bad({places, In({4}), shape, In({5, 3})}, {}, Code::kInvalidArgument, "")
      .Bad({In({1, 2}, {2, 0}), In({1}), shape, In({4, 3})}, {}, Code::kInvalidArgument,
           "row index 2 of a is out of bounds")
      .Bad({In({1, 2}, {0, -1}), In({1}), shape, In({4, 3})}, {}, Code::kInvalidArgument,
           "column index -1")
      .Bad({In({1, 2}, {0, 0}), In({1}), In({3}, {2, 4, 1}), In({4, 3})}, {},
           Code::kInvalidArgument, "Shape must be rank 2 but is rank 3 for ", "")
      .Run();
}

TEST(SparseDenseTest, ElementByElement) {
  const In places = In({3, 2}, {0, 1, 1, 0, 1, 2}), shape = In({2}, {2, 3});
  const auto at = [](const auto& r, int64_t i) {
    const int64_t row = static_cast<int64_t>(r.in[0][2 * i]);
    const int64_t column = static_cast<int64_t>(r.in[0][2 * i + 1]);
    return r.in[3].At(r.in[3].shape.rank() == 1   ? std::vector<int64_t>{column}
                      : r.in[3].shape.rank() == 0 ? std::vector<int64_t>{}
                                                  : std::vector<int64_t>{row, column});
  };
  const auto run = [&](const char* op, auto f) {
    OpCase(op)
        .Reference([&](RefCall<double>& r) {
          r.out = {Array<double>(r.in[1].shape)};
          for (int64_t i = 0; i < r.in[1].size(); ++i) r.out[0][i] = f(r.in[1][i], at(r, i));
        })
        .Types({{"T", DType::kFloat}})
        .Types({{"T", DType::kDouble}})
        .GradInputs({1, 3})
        .Try({places, In({3}), shape, In({2, 3}).Range(0.5, 2)})
        .Try({places, In({3}), shape, In({3}).Range(0.5, 2)})
        .Try({places, In({3}), shape, In({2, 1}).Range(0.5, 2)})
        .Try({places, In({3}), shape, In({}).Range(0.5, 2)})
        .Bad({places, In({3}), shape, In({2})}, {}, Code::kInvalidArgument, "incompatible shapes")
        .Bad({places, In({3}), shape, In({1, 2, 3})}, {}, Code::kInvalidArgument, "incompatible")
        .Run();
  };
  run("SparseDenseCwiseAdd", [](double x, double y) { return x + y; });
  run("SparseDenseCwiseMul", [](double x, double y) { return x * y; });
  run("SparseDenseCwiseDiv", [](double x, double y) { return x / y; });
}

}  // namespace
}  // namespace thalweg
