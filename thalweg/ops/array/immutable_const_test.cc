// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

class ImmutableConstTest : public testing::Test {
 protected:
  ImmutableConstTest() {
    const float numbers[] = {0, 1, 2, 3, 4, 5};
    EXPECT_TRUE(WriteFileAtomically(files_, path_,
                                    {reinterpret_cast<const char*>(numbers), sizeof(numbers)})
                    .ok());
  }

  Result<std::vector<Tensor>> Read(DType dtype, const Shape& shape, const std::string& path) {
    return RunOp("ImmutableConst", {},
                 {{"dtype", dtype}, {"shape", PartialShape(shape)}, {"memory_region_name", path}});
  }

  PosixFileSystem files_;
  TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("numbers");
};

TEST_F(ImmutableConstTest, ReadsTheBeginningOfTheFile) {
  const auto got = Read(DType::kFloat, Shape{2, 2}, path_);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].shape(), (Shape{2, 2}));
  EXPECT_EQ((*got)[0].data<float>()[3], 3.0f);
}

TEST_F(ImmutableConstTest, Refusals) {
  EXPECT_EQ(Read(DType::kFloat, Shape{7}, path_).status().code(), Code::kInternal);
  EXPECT_EQ(Read(DType::kFloat, Shape{int64_t{1} << 61}, path_).status().code(), Code::kInternal);
  EXPECT_EQ(Read(DType::kString, Shape{1}, path_).status().code(), Code::kUnimplemented);
  EXPECT_EQ(Read(DType::kFloat, Shape{1}, path_ + "_no").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace thalweg
