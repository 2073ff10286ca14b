// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

// out[.., i, ..] = in[i], i in dimension `axis`.
template <class V>
void PackReference(RefCall<V>& r) {
  const int64_t n = static_cast<int64_t>(r.in.size());
  Dims dims = r.in[0].shape.dims();
  int64_t axis = r.template Attr<int64_t>("axis");
  if (axis < 0) axis += dims.size() + 1;
  dims.insert(static_cast<int>(axis), n);
  r.out = {Array<V>(Shape(dims))};
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> inner = at;
    inner.erase(inner.begin() + axis);
    r.out[0].At(at) = r.in[static_cast<size_t>(at[static_cast<size_t>(axis)])].At(inner);
  });
}

TEST(PackTest, PutsTensorsTogether) {
  EveryElementType("Pack")
      .Reference([]<class V>(RefCall<V>& r) { PackReference(r); })
      .Try({In({2, 3}), In({2, 3}), In({2, 3})})
      .Try({In({5, 31}), In({5, 31})}, {{"axis", 1}})
      .Try({In({2, 3}), In({2, 3})}, {{"axis", -1}})
      .Try({In({}), In({}), In({}), In({})})
      .Try({In({0, 3}), In({0, 3})})
      .Bad({In({2}), In({3})}, {}, Code::kInvalidArgument, "[3]")
      .Bad({In({2}), In({2})}, {{"axis", 2}}, Code::kInvalidArgument, "axis = 2 not in [-2, 2)")
      .Run();
}

TEST(PackTest, OfText) {
  Result<std::vector<Tensor>> packed =
      RunOp("Pack", {Tensor::Scalar("one"), Tensor::Scalar("a longer text than fits inside")});
  ASSERT_TRUE(packed.ok()) << packed.status().ToString();
  EXPECT_EQ((*packed)[0].data<std::string>()[1], "a longer text than fits inside");
}

TEST(UnpackTest, TakesTensorsApart) {
  EveryElementType("Unpack")
      .Reference([]<class V>(RefCall<V>& r) {
        int64_t axis = r.template Attr<int64_t>("axis");
        if (axis < 0) axis += r.in[0].shape.rank();
        Dims dims = r.in[0].shape.dims();
        dims.erase(static_cast<int>(axis));
        for (int64_t i = 0; i < r.template Attr<int64_t>("num"); ++i) {
          Array<V> out{Shape(dims)};
          ForEachIndex(out.shape, [&](const std::vector<int64_t>& at) {
            std::vector<int64_t> from = at;
            from.insert(from.begin() + axis, i);
            out.At(at) = r.in[0].At(from);
          });
          r.out.push_back(std::move(out));
        }
      })
      .Try({In({3, 4})}, {{"num", 3}})
      .Try({In({2, 2048})}, {{"num", 2}})
      .Try({In({3, 4, 2})}, {{"num", 2}, {"axis", -1}})
      .Bad({In({3, 4})}, {{"num", 2}}, Code::kInvalidArgument, "Dimension must be 2 but is 3",
           "Input shape axis 0 must equal 2, got shape [3,4]")
      .Bad({In({})}, {{"num", 2}}, Code::kInvalidArgument, "Invalid axis: 0",
           "axis = 0 not in [0, 0)")
      .Run();
}

}  // namespace
}  // namespace thalweg
