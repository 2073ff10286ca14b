// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

// Number of the row of a [4, 3, ...] tensor that pair i of the indices names.
template <class V>
int64_t Row(const Array<V>& indices, int64_t i) {
  return static_cast<int64_t>(std::real(indices[2 * i])) * 3 +
         static_cast<int64_t>(std::real(indices[2 * i + 1]));
}

const AttrMap kIndices = {{"Tindices", DType::kInt32}};

TEST(GatherNdTest, PicksElementsAndSlices) {
  EveryElementType("GatherNd", "Tparams")
      .Reference([]<class V>(RefCall<V>& r) {
        const int64_t inner = r.in[0].shape.rank() == 3 ? r.in[0].shape.dim(2) : 1;
        r.out = {Array<V>(inner == 1 ? Shape{2} : Shape{2, inner})};
        for (int64_t i = 0; i < 2; ++i) {
          for (int64_t k = 0; k < inner; ++k) {
            r.out[0][i * inner + k] = r.in[0][Row(r.in[1], i) * inner + k];
          }
        }
      })
      .Try({In({4, 3}), In({2, 2}, {3, 1, 0, 2})}, kIndices)
      .Try({In({4, 3, 5}), In({2, 2}, {3, 1, 3, 1})}, {{"Tindices", DType::kInt64}})
      .Bad({In({4, 3}), In({1, 2}, {3, 3})}, kIndices, Code::kInvalidArgument,
           "does not index into param shape [4,3]")
      .Bad({In({4}), In({1, 2}, {3, 3})}, kIndices, Code::kInvalidArgument,
           "indices.shape[-1] must be <= params.rank, but saw indices shape: [1,2] and params "
           "shape: [4]",
           "innermost dimension")
      .Bad({In({4}), In({}, {3})}, kIndices, Code::kInvalidArgument, "at least rank 1")
      .Run();
}

TEST(GatherNdTest, BadIndicesCanBeIgnored) {
  Result<std::vector<Tensor>> got =
      RunOp("GatherNd",
            {Tensor::Vector<float>({5, 6}), *Tensor::Vector<int32_t>({1, 7}).Reshaped(Shape{2, 1})},
            {{"bad_indices_policy", "IGNORE"}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<float>()[0], 6.0f);
  EXPECT_EQ((*got)[0].data<float>()[1], 0.0f);
}

TEST(ScatterNdTest, AddsIntoZeros) {
  OpCase("ScatterNd")
      .Types({{"T", DType::kDouble}})
      .Types({{"T", DType::kHalf}})
      .Types({{"T", DType::kInt64}})
      .Types({{"T", DType::kComplex64}})
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{4, 3, 5})};
        for (int64_t i = 0; i < 3; ++i) {
          for (int64_t k = 0; k < 5; ++k) r.out[0][Row(r.in[0], i) * 5 + k] += r.in[1][i * 5 + k];
        }
      })
      .Try({In({3, 2}, {3, 1, 0, 2, 3, 1}), In({3, 5}), In({3}, {4, 3, 5})}, kIndices)
      .Bad({In({1, 1}, {4}), In({1}), In({1}, {4})}, kIndices, Code::kInvalidArgument,
           "does not index into")
      .Bad({In({1, 1}, {0}), In({2}), In({1}, {4})}, kIndices, Code::kInvalidArgument, "")
      .Bad({In({1, 1}, {0}), In({1}), In({2}, {1 << 30, 1 << 30})}, kIndices,
           Code::kInvalidArgument, "updates")
      .Bad({In({1, 1}, {0}), In({1}), In({1}, {-4})}, kIndices, Code::kInvalidArgument, "")
      .Run();
}

TEST(TensorScatterTest, AddsAndUpdates) {
  OpCase("TensorScatterAdd")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {r.in[0]};
        for (int64_t i = 0; i < 3; ++i) r.out[0][Row(r.in[1], i)] += r.in[2][i];
      })
      .Try({In({4, 3}), In({3, 2}, {3, 1, 0, 2, 3, 1}), In({3}).Range(1, 2)}, kIndices)
      .Run();
  EveryElementType("TensorScatterUpdate")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {r.in[0]};
        for (int64_t i = 0; i < 2; ++i) r.out[0][Row(r.in[1], i)] = r.in[2][i];
      })
      .Try({In({4, 3}).Range(-2, -1), In({2, 2}, {3, 1, 0, 2}), In({2}).Range(1, 2)}, kIndices)
      .Trivial("truth values may agree by chance")
      .Run();
}

TEST(TensorScatterTest, SubtractsAndTakesExtremes) {
  const auto combined = [](const std::string& op, auto combine) {
    OpCase made(op);
    made.Reference([combine]<class V>(
                       RefCall<V> & r) requires std::is_invocable_r_v<V, decltype(combine), V, V> {
          r.out = {r.in[0]};
          for (int64_t i = 0; i < 3; ++i) {
            V& target = r.out[0][Row(r.in[1], i)];
            target = combine(target, r.in[2][i]);
          }
        })
        .Try({In({4, 3}).Range(0, 9).Distinct(), In({3, 2}, {3, 1, 0, 2, 3, 1}),
              In({3}, {5.5, 1.25, 7})},
             kIndices)
        .Bad({In({4, 3}), In({1, 2}, {4, 0}), In({1}, {1})}, kIndices, Code::kInvalidArgument,
             "does not index into");
    return made;
  };
  combined("TensorScatterSub", [](auto a, auto b) { return a - b; }).Run();
  combined("ScatterNdNonAliasingAdd", [](auto a, auto b) { return a + b; }).Run();
  combined("TensorScatterMax", [](double a, double b) { return std::max(a, b); }).Run();
  combined("TensorScatterMin", [](double a, double b) { return std::min(a, b); }).Run();
}

TEST(ScatterNdTest, SumsOfTruthValuesAndTexts) {
  const Tensor indices = *Tensor::Vector<int32_t>({0, 0, 1}).Reshaped(Shape{3, 1});
  const Tensor shape = Tensor::Vector<int32_t>({3});
  const auto truth =
      RunOp("ScatterNd", {indices, Tensor::Vector<bool>({true, false, false}), shape});
  ASSERT_TRUE(truth.ok()) << truth.status().ToString();
  EXPECT_TRUE((*truth)[0].data<bool>()[0]);
  EXPECT_FALSE((*truth)[0].data<bool>()[1]);
  const auto texts = RunOp(
      "ScatterNd",
      {indices, Tensor::Of<std::string>(std::vector<std::string>{"a", "b", "c"}, Shape{3}), shape});
  ASSERT_TRUE(texts.ok()) << texts.status().ToString();
  EXPECT_EQ((*texts)[0].data<std::string>()[0], "ab");
  EXPECT_EQ((*texts)[0].data<std::string>()[2], "");
}

}  // namespace
}  // namespace thalweg
