// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

using Index = std::vector<int64_t>;

struct Blocks {
  Index sizes;
  std::vector<double> borders;
  std::vector<double> shape() const { return {sizes.begin(), sizes.end()}; }
};

// Fills the second array from the first element by element: a space [batch, dims..., rest] and its
// blocks [cells * batch, counts..., rest].
template <class V>
void Arrange(const Blocks& blocks, const Array<V>& from, Array<V>& to, bool to_batch) {
  const Array<V>& space = to_batch ? from : to;
  const Array<V>& batched = to_batch ? to : from;
  const int64_t batch = space.shape.dim(0);
  ForEachIndex(batched.shape, [&](const Index& at) {
    Index place = at;
    place[0] = at[0] % batch;
    int64_t cell = at[0] / batch;
    bool inside = true;
    for (int i = static_cast<int>(blocks.sizes.size()) - 1; i >= 0; --i) {
      const auto k = static_cast<size_t>(i);
      place[k + 1] = at[k + 1] * blocks.sizes[k] + cell % blocks.sizes[k] -
                     static_cast<int64_t>(blocks.borders[2 * k]);
      cell /= blocks.sizes[k];
      inside = inside && place[k + 1] >= 0 && place[k + 1] < space.shape.dim(i + 1);
    }
    if (!inside) return;
    const int64_t in_space = space.Offset(place), in_batch = batched.Offset(at);
    to[to_batch ? in_batch : in_space] = from[to_batch ? in_space : in_batch];
  });
}

struct Example {
  In space;
  Blocks blocks;
  In batched;
};

const Example kExamples[] = {{In({2, 4, 6, 3}), {{2, 3}, {0, 0, 0, 0}}, In({12, 2, 2, 3})},
                             {In({2, 5, 4}), {{3, 2}, {1, 3, 2, 0}}, In({12, 3, 3})},
                             {In({2, 1, 2}), {{2}, {4, 3}}, In({4, 4, 2})},
                             {In({3, 4}), {{}, {}}, In({3, 4})},
                             {In({2, 3, 0}), {{1, 2}, {0, 0, 1, 1}}, In({4, 3, 1})}};

TEST(SpaceBatchTest, ManyDimensions) {
  for (const Example& e : kExamples) {
    const auto blocks = static_cast<int64_t>(e.blocks.sizes.size());
    const In shape({blocks}, e.blocks.shape()), borders({blocks, 2}, e.blocks.borders);
    EveryElementType("SpaceToBatchND")
        .Reference([&]<class V>(RefCall<V>& r) {
          r.out = {Array<V>(e.batched.shape)};
          Arrange(e.blocks, r.in[0], r.out[0], true);
        })
        .Try({e.space, shape, borders}, {{"Tpaddings", DType::kInt64}})
        .Trivial("blocks of none change nothing")
        .Run();
    EveryElementType("BatchToSpaceND")
        .Reference([&]<class V>(RefCall<V>& r) {
          r.out = {Array<V>(e.space.shape)};
          Arrange(e.blocks, r.in[0], r.out[0], false);
        })
        .Try({e.batched, shape, borders}, {{"Tblock_shape", DType::kInt64}})
        .Trivial("blocks of none change nothing")
        .Run();
  }
}

TEST(SpaceBatchTest, Images) {
  const Blocks blocks{{2, 2}, {1, 0, 0, 2}};
  EveryElementType("SpaceToBatch")
      .Reference([&]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{8, 2, 3, 3})};
        Arrange(blocks, r.in[0], r.out[0], true);
      })
      .Try({In({2, 3, 4, 3}), In({2, 2}, blocks.borders)}, {{"block_size", 2}})
      .Run();
  EveryElementType("BatchToSpace")
      .Reference([&]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{2, 3, 4, 3})};
        Arrange(blocks, r.in[0], r.out[0], false);
      })
      .Try({In({8, 2, 3, 3}), In({2, 2}, blocks.borders)}, {{"block_size", 2}})
      .Run();
}

TEST(SpaceBatchTest, Refusals) {
  const auto refuse = [](const std::string& op, const std::vector<In>& inputs,
                         const auto&... words) {
    OpCase(op)
        .Types({{"T", DType::kFloat}})
        .Reference([](RefCall<double>& r) { r.out = {r.in[0]}; })
        .Try({In({1, 2}), In({1}, {1}), In({1, 2}, {0, 0})})
        .Bad(inputs, {}, Code::kInvalidArgument, words...)
        .Trivial("blocks of one")
        .Run();
  };
  for (const std::string op : {"SpaceToBatchND", "BatchToSpaceND"}) {
    refuse(op, {In({4, 4}), In({1}, {0}), In({1, 2}, {0, 0})}, "must be positive");
    refuse(op, {In({4, 4}), In({1}, {2}), In({1, 2}, {-1, 1})}, "must be non-negative");
    refuse(op, {In({4, 4}), In({2}, {2, 2}), In({2, 2}, {0, 0, 0, 0})},
           "Shape must be at least rank 3 but is rank 2", "input rank should be >= 3 instead of 2");
    refuse(op, {In({4, 4}), In({1}, {2}), In({2, 2}, {0, 0, 0, 0})}, "");
    refuse(op, {In({4, 4}), In({1, 1}, {2}), In({1, 2}, {0, 0})}, "");
    refuse(op, {In({4, 4}), In({1}, {2147483647}), In({1, 2}, {0, 0})}, "not divisible");
  }
  refuse("SpaceToBatchND", {In({1, 4}), In({1}, {3}), In({1, 2}, {0, 0})}, "not divisible");
  refuse("BatchToSpaceND", {In({4, 1}), In({1}, {2}), In({1, 2}, {2, 2})}, "must be non-negative");
}

}  // namespace
}  // namespace thalweg
