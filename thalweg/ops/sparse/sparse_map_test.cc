// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/graph_builder.h"
#include "thalweg/ops/sparse/test_sparse.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

const Tensor kPlaces = Numbers<int64_t>({0, 1, 2, 0, 2, 3}, Shape{3, 2});
const Tensor kValues = Numbers<float>({1, 2, 3});
const Tensor kShape = Numbers<int64_t>({3, 4});

// One map, used by operations one after the other.
class SparseMapTest : public ::testing::Test {
 protected:
  Result<std::vector<Tensor>> Run(std::string_view op, const std::vector<Tensor>& inputs,
                                  int outputs, AttrMap attrs = {}) {
    attrs.Set("shared_name", std::string("kept"));
    std::vector<Output> given;
    for (const Tensor& tensor : inputs) given.push_back(b_.Const(tensor));
    Node* node = b_.OpNode(op, given, attrs);
    if (node == nullptr) return b_.status();
    std::vector<Output> fetches;
    for (int i = 0; i < outputs; ++i) fetches.push_back({node, i});
    return runner_.Run({}, fetches);
  }
  Result<std::vector<Tensor>> Take(const std::vector<int64_t>& handles,
                                   DType dtype = DType::kFloat) {
    return Run("TakeManySparseFromTensorsMap", {Numbers<int64_t>(handles)}, 3, {{"dtype", dtype}});
  }
  static void ExpectSparse(const Result<std::vector<Tensor>>& got,
                           const std::vector<Tensor>& expected) {
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(BitDifference((*got)[i], expected[i]), "");
  }

  Graph graph_{AllRegistries().ops};
  GraphBuilder b_{&graph_};
  TestMachine machine_{compute::BestIsaLevel(), false};
  GraphRunner runner_{*AllRegistries().kernels, machine_};
};

TEST_F(SparseMapTest, HandlesStandForTensorsOnce) {
  for (int64_t handle : {0, 1}) {
    const auto added = Run("AddSparseToTensorsMap", {kPlaces, kValues, kShape}, 1);
    ASSERT_TRUE(added.ok()) << added.status().ToString();
    EXPECT_EQ((*added)[0].scalar<int64_t>(), handle);
  }
  ExpectSparse(
      Take({1, 0}),
      {Numbers<int64_t>({0, 0, 1, 0, 2, 0, 0, 2, 3, 1, 0, 1, 1, 2, 0, 1, 2, 3}, Shape{6, 3}),
       Numbers<float>({1, 2, 3, 1, 2, 3}), Numbers<int64_t>({2, 3, 4})});
  EXPECT_EQ(Take({0}).status().code(), Code::kInvalidArgument);
}

TEST_F(SparseMapTest, RowsOfOneAreManyInAnyOrder) {
  const auto added = Run("AddManySparseToTensorsMap", {kPlaces, kValues, kShape}, 1);
  ASSERT_TRUE(added.ok()) << added.status().ToString();
  EXPECT_EQ(BitDifference((*added)[0], Numbers<int64_t>({0, 1, 2})), "");
  ExpectSparse(Take({2, 1}), {Numbers<int64_t>({0, 0, 0, 3}, Shape{2, 2}), Numbers<float>({2, 3}),
                              Numbers<int64_t>({2, 4})});
}

TEST_F(SparseMapTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Take({}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Take({-1}).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(Run("AddSparseToTensorsMap", {kPlaces, kValues, kShape}, 1).ok());
  EXPECT_EQ(Take({0}, DType::kInt32).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(Run("AddSparseToTensorsMap", {kPlaces, kValues, kShape}, 1).ok());
  ASSERT_TRUE(Run("AddSparseToTensorsMap",
                  {Numbers<int64_t>({0}, Shape{1, 1}), Numbers<float>({1}), Numbers<int64_t>({2})},
                  1)
                  .ok());
  EXPECT_EQ(Take({1, 2}).status().code(), Code::kInvalidArgument) << "other ranks";
  EXPECT_EQ(Run("AddManySparseToTensorsMap",
                {Numbers<int64_t>({5, 0}, Shape{1, 2}), Numbers<float>({1}), kShape}, 1)
                .status()
                .code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
