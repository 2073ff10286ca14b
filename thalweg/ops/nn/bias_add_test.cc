// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

template <class R>
int64_t Channel(const R& r, const std::vector<int64_t>& at) {
  const bool first = r.node->FindAttr("data_format") != nullptr &&
                     r.template Attr<std::string>("data_format") == "NCHW";
  return first ? at[1] : at.back();
}

template <class V>
void Added(RefCall<V>& r) {
  r.out = {r.in[0]};
  ForEachIndex(r.in[0].shape,
               [&](const std::vector<int64_t>& at) { r.out[0].At(at) += r.in[1][Channel(r, at)]; });
}

TEST(BiasAddTest, Values) {
  const AttrMap first = {{"data_format", "NCHW"}};
  OpCase("BiasAdd")
      .Reference([](auto& r) { Added(r); })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBiasGrad, DType::kHalf))
      .Try({In({7, 31}), In({31})})
      .Try({In({2, 3, 4, 5}), In({5})})
      .Try({In({2, 3, 4, 5}), In({3})}, first)
      .Try({In({2, 3}), In({3})}, first)
      .Try({In({2, 70, 3}), In({70})}, first)
      .Try({In({0, 3}), In({3})})
      .Bad({In({2, 3}), In({2})}, {}, Code::kInvalidArgument, "as many biases")
      .Bad({In({2, 3, 4}), In({4})}, first, Code::kInvalidArgument, "as many biases")
      .Bad({In({3}), In({3})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({1, 3})}, {}, Code::kInvalidArgument,
           "Shape must be rank 1 but is rank 2 for ", "Biases must be 1D: [1,3]")
      .Run();
  OpCase("BiasAddV1")
      .Reference([](auto& r) { Added(r); })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBiasGrad, DType::kHalf))
      .Try({In({7, 31}), In({31})})
      .Run();
}

TEST(BiasAddTest, Grad) {
  const AttrMap first = {{"data_format", "NCHW"}};
  OpCase("BiasAddGrad")
      .Reference([]<class V>(RefCall<V>& r) {
        const Shape& in = r.in[0].shape;
        const bool nchw = r.template Attr<std::string>("data_format") == "NCHW";
        r.out = {Array<V>(Shape{in.dim(nchw ? 1 : in.rank() - 1)})};
        ForEachIndex(in, [&](const std::vector<int64_t>& at) {
          r.out[0][Channel(r, at)] += r.in[0].At(at);
        });
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kBiasGrad, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kBiasGrad, DType::kBfloat16))
      .Try({In({7, 201})})
      .Try({In({2, 3, 4, 5})})
      .Try({In({2, 3, 4, 5})}, first)
      .Try({In({0, 3})})
      .Bad({In({3})}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
