// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

AttrMap WithFunctions(std::initializer_list<const char*> names) {
  AttrMap attrs = IntAttrs();
  for (const std::string name : names) {
    attrs.Set(name, FunctionRef{"f", {}});
    attrs.Set("T" + name + "_other_arguments", std::vector<DType>{});
  }
  return attrs;
}

// Functions belong to a session; pipelines with functions are tested in python/tests/test_data.py.
TEST(DatasetGroupingTest, AFunctionNeedsASession) {
  KernelCall window("GroupByWindowDataset", {Range(3)},
                    WithFunctions({"key_func", "reduce_func", "window_size_func"}));
  EXPECT_EQ(window.Run().message(), "a dataset's function runs only in a session");
  KernelCall reducer("GroupByReducerDataset", {Range(3)},
                     WithFunctions({"key_func", "init_func", "reduce_func", "finalize_func"}));
  EXPECT_EQ(reducer.Run().message(), "a dataset's function runs only in a session");
}

TEST(DatasetGroupingTest, RefusesWhatIsNoDataset) {
  EXPECT_EQ(
      Refused("ExperimentalGroupByWindowDataset", {*Tensor::AllocateHost(DType::kVariant, Shape())},
              WithFunctions({"key_func", "reduce_func", "window_size_func"})),
      "expected a scalar variant that holds a dataset, got variant[]");
}

}  // namespace
}  // namespace thalweg
