// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

TEST(DatasetFileTest, RefusesArgumentsThatMakeNoSense) {
  const Tensor name = Tensor::Scalar("/nowhere"), plain = Tensor::Scalar("");
  EXPECT_EQ(Refused("TextLineDataset", {name, Tensor::Scalar("LZ4"), Int(0)}, {}),
            "Unsupported compression_type: LZ4.");
  EXPECT_EQ(Refused("TextLineDataset", {name, plain, Int(-1)}, {}),
            "`buffer_size` must be >= 0 (0 == default), got -1");
  EXPECT_EQ(Refused("FixedLengthRecordDataset", {name, Int(0), Int(0), Int(0), Int(0)}, {}),
            "`record_bytes` must be > 0");
  const Result<Tensor> names = Tensor::AllocateHost(DType::kString, Shape{1, 1});
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(Refused("TFRecordDataset", {*names, plain, Int(0)}, {}),
            "`filenames` must be a scalar or a vector, got [1,1]");
}

}  // namespace
}  // namespace thalweg
