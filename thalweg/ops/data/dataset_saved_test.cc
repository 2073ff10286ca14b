// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

AttrMap SaveAttrs(const std::string& compression) {
  AttrMap attrs = IntAttrs();
  attrs.Set("use_shard_func", false);
  attrs.Set("shard_func", FunctionRef{"none"});
  attrs.Set("Tshard_func_args", std::vector<DType>{});
  attrs.Set("compression", compression);
  return attrs;
}

TEST(DatasetSavedTest, PassesElementsThroughAndKeepsThem) {
  TemporaryDirectory directory;
  const Tensor path = Tensor::Scalar(directory.Path("d"));
  EXPECT_EQ(Elements(Made("SaveDatasetV2", {Range(3), path}, SaveAttrs(""))),
            (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(PosixFileSystem().Stat(directory.Path("d/snapshot.metadata")).ok());
}

TEST(DatasetSavedTest, RefusesACompressionThatItDoesNotKnow) {
  KernelCall call("SaveDatasetV2", {Range(3), Tensor::Scalar(std::string("/x"))},
                  SaveAttrs("SNAPPY"));
  EXPECT_EQ(call.Run().code(), Code::kInvalidArgument);
}

TEST(DatasetSavedTest, TheFirstSnapshotHasOneShard) {
  TemporaryDirectory directory;
  const Tensor path = Tensor::Scalar(directory.Path("d"));
  AttrMap attrs = IntAttrs();
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(Elements(Made("SnapshotDataset", {Range(3), path}, attrs)),
              (std::vector<int64_t>{0, 1, 2}));
  }
  EXPECT_EQ(PosixFileSystem().List(directory.Path("d"))->size(), 1u);
  attrs.Set("shuffle_on_read", true);
  EXPECT_EQ(KernelCall("SnapshotDataset", {Range(3), path}, attrs).Run().code(),
            Code::kUnimplemented);
}

}  // namespace
}  // namespace thalweg
