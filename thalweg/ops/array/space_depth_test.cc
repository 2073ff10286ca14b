// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

using Index = std::vector<int64_t>;

// Calls f(index in space, index in depth) for an image [2, 2 * 3, 3 * 3, 2] (blocks of 3), in NHWC
// or NCHW.
template <class F>
void ForPixels(bool channels_first, F f) {
  const int64_t s = 3;
  ForEachIndex(Shape{2, 2 * s, 3 * s, 2}, [&](const Index& at) {
    const int64_t channel = (at[1] % s * s + at[2] % s) * 2 + at[3];
    const Index depth = {at[0], at[1] / s, at[2] / s, channel};
    const auto ordered = [&](const Index& i) {
      return channels_first ? Index{i[0], i[3], i[1], i[2]} : i;
    };
    f(ordered(at), ordered(depth));
  });
}

TEST(SpaceDepthTest, BlocksAndChannels) {
  for (const bool first : {false, true}) {
    const AttrMap attrs = {{"block_size", 3}, {"data_format", first ? "NCHW" : "NHWC"}};
    const In space = first ? In({2, 2, 6, 9}) : In({2, 6, 9, 2});
    const In depth = first ? In({2, 18, 2, 3}) : In({2, 2, 3, 18});
    EveryElementType("SpaceToDepth")
        .Reference([&]<class V>(RefCall<V>& r) {
          r.out = {Array<V>(depth.shape)};
          ForPixels(first, [&](const Index& s, const Index& d) { r.out[0].At(d) = r.in[0].At(s); });
        })
        .Try({space}, attrs)
        .Bad({In({1, 5, 6, 7})}, attrs, Code::kInvalidArgument, "divisible")
        .Bad({In({1, 6, 6})}, attrs, Code::kInvalidArgument, "")
        .Run();
    EveryElementType("DepthToSpace")
        .Reference([&]<class V>(RefCall<V>& r) {
          r.out = {Array<V>(space.shape)};
          ForPixels(first, [&](const Index& s, const Index& d) { r.out[0].At(s) = r.in[0].At(d); });
        })
        .Try({depth}, attrs)
        .Bad({In({1, 5, 6, 8})}, attrs, Code::kInvalidArgument, "divisible")
        .Bad({In({1, 6, 6})}, attrs, Code::kInvalidArgument, "")
        .Run();
  }
}

TEST(SpaceDepthTest, EmptyImages) {
  EveryElementType("SpaceToDepth")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{0, 1, 2, 4})};
      })
      .Try({In({0, 2, 4, 1})}, {{"block_size", 2}})
      .Trivial("nothing to move")
      .Run();
}

}  // namespace
}  // namespace thalweg
