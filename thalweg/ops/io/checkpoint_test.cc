// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

class CheckpointOpsTest : public testing::Test {
 protected:
  Tensor Prefix(const std::string& name = "model") const {
    return Tensor::Scalar(directory_.Path(name));
  }
  Status Save(const std::string& prefix, const std::vector<std::string>& names,
              const std::vector<std::string>& slices, const std::vector<Tensor>& values) {
    std::vector<Tensor> inputs = {Prefix(prefix), Texts(names), Texts(slices)};
    inputs.insert(inputs.end(), values.begin(), values.end());
    return KernelCall("SaveV2", std::move(inputs), {{"dtypes", Types(values)}}).Run();
  }
  static Tensor Texts(const std::vector<std::string>& texts) {
    return Tensor::Of<std::string>(texts, Shape{static_cast<int64_t>(texts.size())});
  }
  static std::vector<DType> Types(const std::vector<Tensor>& values) {
    std::vector<DType> types;
    for (const Tensor& value : values) types.push_back(value.dtype());
    return types;
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
};

TEST_F(CheckpointOpsTest, SavedTensorsComeBack) {
  ASSERT_TRUE(Save("model", {"a", "b"}, {"", ""},
                   {Tensor::Vector<float>({1, 2, 3}), Tensor::Scalar("text")})
                  .ok());
  KernelCall restore("RestoreV2", {Prefix(), Texts({"b", "a"}), Texts({"", ""})},
                     {{"dtypes", std::vector<DType>{DType::kString, DType::kFloat}}});
  const Status status = restore.Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(restore.output(0).scalar<std::string>(), "text");
  EXPECT_EQ(restore.output(1).data<float>()[2], 3.0f);
}

TEST_F(CheckpointOpsTest, SlicesMergeIntoOneTensor) {
  ASSERT_TRUE(
      Save("p0", {"m"}, {"2 2 0,1:-"}, {*Tensor::Vector<float>({1, 2}).Reshaped(Shape{1, 2})})
          .ok());
  ASSERT_TRUE(
      Save("p1", {"m"}, {"2 2 1,1:-"}, {*Tensor::Vector<float>({3, 4}).Reshaped(Shape{1, 2})})
          .ok());
  KernelCall merge("MergeV2Checkpoints",
                   {Texts({directory_.Path("p0"), directory_.Path("p1")}), Prefix()});
  ASSERT_TRUE(merge.Run().ok());
  KernelCall whole("RestoreV2", {Prefix(), Texts({"m"}), Texts({""})},
                   {{"dtypes", std::vector<DType>{DType::kFloat}}});
  ASSERT_TRUE(whole.Run().ok());
  EXPECT_EQ(whole.output(0).data<float>()[3], 4.0f);
  KernelCall column("RestoreV2", {Prefix(), Texts({"m"}), Texts({"2 2 -:1,1"})},
                    {{"dtypes", std::vector<DType>{DType::kFloat}}});
  ASSERT_TRUE(column.Run().ok());
  EXPECT_EQ(column.output(0).data<float>()[1], 4.0f);
}

TEST_F(CheckpointOpsTest, PartsOfWhoIsGoneAreSweptByTheNextSave) {
  const std::string digits(32, 'a'), dead = "m_temp_" + digits,
                                     next = "m_temp_" + std::string(32, 'b');
  const std::vector<Tensor> value = {Tensor::Vector<float>({1})};
  ASSERT_TRUE(Save(dead + "/part-00000-of-00001", {"a"}, {""}, value).ok());
  ASSERT_TRUE(fs_.MakeDirectories(directory_.Path("m_temp_mine")).ok());
  // Who saves is there as long as its kernel.
  KernelCall alive("SaveV2",
                   {Prefix(next + "/part-00000-of-00001"), Texts({"a"}), Texts({""}), value[0]},
                   {{"dtypes", Types(value)}});
  ASSERT_TRUE(alive.Run().ok());
  EXPECT_EQ(*fs_.List(directory_.path()), (std::vector<std::string>{next, "m_temp_mine"}));
  ASSERT_TRUE(Save("other", {"a"}, {""}, value).ok());
  EXPECT_TRUE(*FileExists(fs_, directory_.Path(next)));
  ASSERT_TRUE(KernelCall("MergeV2Checkpoints",
                         {Texts({directory_.Path(next + "/part-00000-of-00001")}), Prefix("m")})
                  .Run()
                  .ok());
  EXPECT_FALSE(*FileExists(fs_, directory_.Path(next)));
  EXPECT_TRUE(*FileExists(fs_, directory_.Path("m.index")));
}

TEST_F(CheckpointOpsTest, WrongNamesTypesAndFilesAreErrors) {
  ASSERT_TRUE(Save("model", {"a"}, {""}, {Tensor::Vector<float>({1})}).ok());
  const auto restore = [&](const std::string& prefix, const std::string& name,
                           const std::string& slice, DType dtype) {
    return KernelCall("RestoreV2", {Prefix(prefix), Texts({name}), Texts({slice})},
                      {{"dtypes", std::vector<DType>{dtype}}})
        .Run();
  };
  EXPECT_EQ(restore("model", "b", "", DType::kFloat).code(), Code::kNotFound);
  EXPECT_EQ(restore("absent", "a", "", DType::kFloat).code(), Code::kNotFound);
  EXPECT_EQ(restore("model", "a", "", DType::kDouble).code(), Code::kInvalidArgument);
  EXPECT_EQ(restore("model", "a", "2 0,1", DType::kFloat).code(), Code::kInvalidArgument);
  EXPECT_EQ(restore("model", "a", "nonsense", DType::kFloat).code(), Code::kInvalidArgument);
  EXPECT_EQ(
      Save("model", {"a", "a"}, {"", ""}, {Tensor::Scalar(1.0f), Tensor::Scalar(1.0f)}).code(),
      Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
