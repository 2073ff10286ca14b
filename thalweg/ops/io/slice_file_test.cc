// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SliceFileOpsTest : public testing::Test {
 protected:
  Tensor File(const std::string& name) const { return Tensor::Scalar(directory_.Path(name)); }
  static Tensor Texts(const std::vector<std::string>& texts) {
    return Tensor::Of<std::string>(texts, Shape{static_cast<int64_t>(texts.size())});
  }
  static Tensor Rows(const std::vector<float>& values) {
    return Tensor::Of<float>(values, Shape{1, static_cast<int64_t>(values.size())});
  }
  Status Save(const std::string& file, const std::vector<std::string>& names,
              const std::vector<Tensor>& values) {
    return Call("Save", {File(file), Texts(names)}, values);
  }
  Status SaveSlices(const std::string& file, const std::vector<std::string>& names,
                    const std::vector<std::string>& slices, const std::vector<Tensor>& values) {
    return Call("SaveSlices", {File(file), Texts(names), Texts(slices)}, values);
  }
  Result<Tensor> Restore(const std::string& file, const std::string& name,
                         DType dtype = DType::kFloat) {
    return Read("Restore", {File(file), Tensor::Scalar(name)}, dtype);
  }
  Result<Tensor> RestoreSlice(const std::string& file, const std::string& name,
                              const std::string& slice) {
    return Read("RestoreSlice", {File(file), Tensor::Scalar(name), Tensor::Scalar(slice)},
                DType::kFloat);
  }
  static std::vector<float> Floats(const Result<Tensor>& value) {
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    if (!value.ok()) return {};
    const auto numbers = value->flat<float>();
    return {numbers.begin(), numbers.end()};
  }

 private:
  static Status Call(const char* op, std::vector<Tensor> inputs,
                     const std::vector<Tensor>& values) {
    std::vector<DType> types;
    for (const Tensor& value : values) types.push_back(value.dtype());
    inputs.insert(inputs.end(), values.begin(), values.end());
    return KernelCall(op, std::move(inputs), {{"T", types}}).Run();
  }
  static Result<Tensor> Read(const char* op, std::vector<Tensor> inputs, DType dtype) {
    KernelCall call(op, std::move(inputs), {{"dt", dtype}, {"preferred_shard", int64_t{-1}}});
    RETURN_IF_ERROR(call.Run());
    return call.output(0);
  }

  TemporaryDirectory directory_;
};

TEST_F(SliceFileOpsTest, SavedTensorsComeBack) {
  ASSERT_TRUE(
      Save("m", {"a", "b"}, {Tensor::Vector<float>({1, 2, 3}), Tensor::Scalar("text")}).ok());
  EXPECT_THAT(Floats(Restore("m", "a")), ElementsAre(1, 2, 3));
  EXPECT_EQ(Restore("m", "b", DType::kString)->scalar<std::string>(), "text");
  EXPECT_THAT(Floats(RestoreSlice("m", "a", "3 1,2")), ElementsAre(2, 3));
  EXPECT_THAT(Floats(RestoreSlice("m", "a", "")), ElementsAre(1, 2, 3));
}

TEST_F(SliceFileOpsTest, SlicesInSeveralFilesAreOneTensor) {
  ASSERT_TRUE(SaveSlices("m-0", {"m"}, {"2 2 0,1:-"}, {Rows({1, 2})}).ok());
  EXPECT_EQ(Restore("m-0", "m").status().code(), Code::kInvalidArgument) << "half of it";
  ASSERT_TRUE(SaveSlices("m-1", {"m"}, {"2 2 1,1:-"}, {Rows({3, 4})}).ok());
  EXPECT_THAT(Floats(Restore("m-?", "m")), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Floats(RestoreSlice("m-?", "m", "2 2 -:1,1")), ElementsAre(2, 4));
  EXPECT_THAT(Floats(RestoreSlice("m-1", "m", "2 2 1,1:0,1")), ElementsAre(3));
}

TEST_F(SliceFileOpsTest, RestoreV2ReadsBothFormats) {
  ASSERT_TRUE(Save("m", {"a"}, {Tensor::Vector<float>({1, 2, 3})}).ok());
  KernelCall restore("RestoreV2", {File("m"), Texts({"a", "a"}), Texts({"", "3 0,1"})},
                     {{"dtypes", std::vector<DType>{DType::kFloat, DType::kFloat}}});
  ASSERT_TRUE(restore.Run().ok());
  EXPECT_THAT(Floats(restore.output(0)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Floats(restore.output(1)), ElementsAre(1));
}

TEST_F(SliceFileOpsTest, WrongNamesTypesAndFilesAreErrors) {
  ASSERT_TRUE(Save("m", {"a"}, {Tensor::Vector<float>({1})}).ok());
  EXPECT_EQ(Restore("m", "b").status().code(), Code::kNotFound);
  EXPECT_EQ(Restore("absent", "a").status().code(), Code::kNotFound);
  EXPECT_EQ(Restore("m", "a", DType::kInt32).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RestoreSlice("m", "a", "2 0,1").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RestoreSlice("m", "a", "nonsense").status().code(), Code::kInvalidArgument);
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_EQ(Save("n", {"a", "a"}, {one, one}).code(), Code::kInvalidArgument);
  EXPECT_EQ(SaveSlices("n", {"a"}, {"2 2 0,1:-"}, {one}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Save("n", {"a"}, {*Tensor::AllocateHost(DType::kBfloat16, Shape())}).code(),
            Code::kUnimplemented);
  EXPECT_EQ(Restore("n", "a").status().code(), Code::kNotFound) << "nothing is left of them";
}

}  // namespace
}  // namespace thalweg
