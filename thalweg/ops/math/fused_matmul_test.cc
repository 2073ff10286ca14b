// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

double Activated(const std::string& name, double v, double alpha) {
  if (name == "Relu") return v < 0 ? 0 : v;
  if (name == "Relu6") return std::clamp(v, 0.0, 6.0);
  if (name == "Elu") return v < 0 ? std::expm1(v) : v;
  if (name == "Tanh") return std::tanh(v);
  if (name == "Sigmoid") return 1 / (1 + std::exp(-v));
  if (name == "LeakyRelu") return v < 0 ? v * alpha : v;
  return v;
}

constexpr auto kFused = [](auto& r) {
  const bool ta = r.template Attr<bool>("transpose_a"), tb = r.template Attr<bool>("transpose_b");
  const auto names = r.template Attr<std::vector<std::string>>("fused_ops");
  const double alpha = r.template Attr<float>("leakyrelu_alpha");
  const auto &a = r.in[0], &b = r.in[1];
  const int64_t m = a.shape.dim(ta ? 1 : 0), k = a.shape.dim(ta ? 0 : 1);
  const int64_t n = b.shape.dim(tb ? 0 : 1);
  Array<double> y(Shape{m, n});
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double v = 0;
      for (int64_t l = 0; l < k; ++l) {
        v += a.At({ta ? l : i, ta ? i : l}) * b.At({tb ? j : l, tb ? l : j});
      }
      for (const std::string& name : names) {
        if (name == "BiasAdd") {
          v += r.in[2].At({j});
        } else if (name == "Add") {
          v += r.in[3].At({i, j});
        } else {
          v = Activated(name, v, alpha);
        }
      }
      y.At({i, j}) = v;
    }
  }
  r.out = {y};
};

AttrMap Fuse(std::vector<std::string> names, int64_t args) {
  return {{"fused_ops", std::move(names)}, {"num_args", args}};
}

OpCase Case() {
  OpCase c("_FusedMatMul");
  c.Reference([](RefCall<double>& r) { kFused(r); })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kProduct, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kProduct, DType::kBfloat16));
  return c;
}

TEST(FusedMatMulTest, Activations) {
  OpCase c = Case();
  for (const char* name : {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"}) {
    c.Try({In({5, 9}), In({9, 40}), In({40})}, Fuse({"BiasAdd", name}, 1));
    c.Try({In({3, 4}), In({4, 7})}, Fuse({name}, 0));
  }
  c.Run();
}

TEST(FusedMatMulTest, BiasResidualAndEmpty) {
  AttrMap transposed = Fuse({"BiasAdd", "Add", "Relu"}, 2);
  transposed.Set("transpose_a", true);
  transposed.Set("transpose_b", true);
  Case()
      .Try({In({37, 19}), In({19, 41})}, Fuse({}, 0))
      .Try({In({37, 19}), In({19, 41}), In({41})}, Fuse({"BiasAdd"}, 1))
      .Try({In({19, 37}), In({41, 19}), In({41}), In({37, 41})}, transposed)
      .Try({In({0, 3}), In({3, 4}), In({4})}, Fuse({"BiasAdd"}, 1))
      .Try({In({2, 0}), In({0, 4}), In({4})}, Fuse({"BiasAdd"}, 1))
      .Run();
}

// The weight in packed form, kept by the session: the same values.
TEST(FusedMatMulTest, PackedWeight) {
  AttrMap attrs = Fuse({"BiasAdd", "Relu"}, 1);
  attrs.Set("_weight", std::string("w"));
  AttrMap transposed = attrs;
  transposed.Set("transpose_b", true);
  Case()
      .Try({In({1, 30}), In({30, 50}), In({50})}, attrs)
      .Try({In({20, 30}), In({30, 50}), In({50})}, attrs)
      .Try({In({9, 30}), In({50, 30}), In({50})}, transposed)
      .Run();
}

TEST(FusedMatMulTest, BadInputs) {
  AttrMap named = Fuse({"BiasAdd"}, 1);
  named.Set("_fused_from", std::string("MatMul 'x', BiasAdd 'y'"));
  Case()
      .Try({In({2, 3}), In({3, 4}), In({4})}, Fuse({"BiasAdd"}, 1))
      .Bad({In({2, 3}), In({4, 2}), In({2})}, Fuse({"BiasAdd"}, 1), Code::kInvalidArgument,
           "inner dimensions differ")
      .Bad({In({2, 3}), In({3, 2}), In({3})}, Fuse({"BiasAdd"}, 1), Code::kInvalidArgument,
           "bias must have one element per column")
      .Bad({In({2, 3}), In({3, 2}), In({3})}, named, Code::kInvalidArgument,
           "MatMul 'x', BiasAdd 'y'")
      .Bad({In({2, 3}), In({3, 2}), In({2}), In({2})}, Fuse({"BiasAdd", "Add"}, 2),
           Code::kInvalidArgument, "must have the shape of the product")
      .Bad({In({2, 3}), In({3, 2})}, Fuse({"BiasAdd"}, 0), Code::kInvalidArgument,
           "fused_ops need 1 args, got 0")
      .Bad({In({2, 3}), In({3, 2})}, Fuse({"Relu", "Relu"}, 0), Code::kUnimplemented,
           "'Relu' is unknown, or out of place")
      .Run();
}

}  // namespace
}  // namespace thalweg
