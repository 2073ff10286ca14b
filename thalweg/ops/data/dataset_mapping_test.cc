// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

// Functions belong to a session; pipelines with functions are tested in python/tests/test_data.py.
TEST(DatasetMappingTest, AFunctionNeedsASession) {
  AttrMap attrs = IntAttrs();
  attrs.Set("f", FunctionRef{"f", {}});
  attrs.Set("Targuments", std::vector<DType>{});
  for (const char* op : {"MapDataset", "FlatMapDataset"}) {
    KernelCall call(op, {Range(3)}, attrs);
    const Status status = call.Run();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
    EXPECT_EQ(status.message(), "a dataset's function runs only in a session");
  }
}

TEST(DatasetMappingTest, RefusesNumbersOfCallsThatMakeNoSense) {
  AttrMap attrs = IntAttrs();
  attrs.Set("f", FunctionRef{"f", {}});
  attrs.Set("Targuments", std::vector<DType>{});
  EXPECT_EQ(Refused("ParallelMapDatasetV2", {Range(3), Int(0)}, attrs),
            "num_parallel_calls must be greater than zero.");
}

TEST(DatasetMappingTest, NoMoreMembersMakeElementsAtOnceThanThereAre) {
  for (const char* op : {"ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3"}) {
    AttrMap attrs = IntAttrs();
    attrs.Set("f", FunctionRef{"f", {}});
    KernelCall call(op, {Range(3), Int(2), Int(1), Int(3)}, std::move(attrs));
    const Status status = call.Run();
    EXPECT_TRUE(status.message().find("`num_parallel_calls` is 3 and `cycle_length` is 2") !=
                std::string_view::npos)
        << status.ToString();
  }
}

}  // namespace
}  // namespace thalweg
