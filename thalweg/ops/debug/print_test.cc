// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

std::string Printed(const std::vector<Tensor>& data, int64_t summarize, int64_t first = -1) {
  std::vector<Tensor> inputs = {Tensor::Scalar(1.0f)};
  std::vector<DType> types;
  for (const Tensor& value : data) {
    inputs.push_back(value);
    types.push_back(value.dtype());
  }
  testing::internal::CaptureStderr();
  ExpectOutputs(
      "Print", inputs,
      {{"U", types}, {"message", std::string("M:")}, {"summarize", summarize}, {"first_n", first}},
      {Tensor::Scalar(1.0f)});
  return testing::internal::GetCapturedStderr();
}

// Recorded with TensorFlow 2.21.
TEST(PrintTest, FirstForm) {
  const Tensor zeros = Numbers<float>({0, 0, 0, 0, 0, 0}, Shape{2, 3});
  EXPECT_EQ(Printed({zeros}, 3), "M:[[0 0 0]...]\n");
  EXPECT_EQ(Printed({zeros}, -1), "M:[[0 0 0][0 0 0]]\n");
  EXPECT_EQ(Printed({zeros}, 0), "M:[...]\n");
  EXPECT_EQ(Printed({Numbers<int32_t>({1, 2, 3, 4, 5})}, 3), "M:[1 2 3...]\n");
  EXPECT_EQ(Printed({Texts({std::string("a\0\"b", 4), "\u00e9"})}, 3), "M:[a\\000\\\"b \u00e9]\n");
  EXPECT_EQ(Printed({Tensor::Scalar(true), Tensor::Vector<bool>({true, false})}, 3),
            "M:[1][1 0]\n");
  EXPECT_EQ(Printed({Tensor::Scalar(1.5f), Numbers<float>({1.1f, 1e10f})}, 3),
            "M:[1.5][1.1 1e+10]\n");
  std::vector<int32_t> many(24);
  for (int i = 0; i < 24; ++i) many[static_cast<size_t>(i)] = i;
  EXPECT_EQ(Printed({Numbers(many, Shape{2, 3, 4})}, 3), "M:[[[0 1 2...]]...]\n");
  EXPECT_EQ(Printed({Numbers<float>({})}, 3), "M:[]\n");
  EXPECT_EQ(Printed({zeros}, 3, 0), "");
}

AttrMap To(const std::string& stream) { return {{"output_stream", stream}}; }

TEST(PrintTest, SecondForm) {
  const Tensor text = Tensor::Scalar("words");
  testing::internal::CaptureStdout();
  ExpectOutputs("PrintV2", {text}, To("stdout"), {});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "words\n");
  testing::internal::CaptureStderr();
  ExpectOutputs("PrintV2", {text}, {{"end", std::string("!")}}, {});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "words!");
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/printed";
  ExpectOutputs("PrintV2", {text}, To("file://" + path), {});
  ExpectOutputs("PrintV2", {text}, To("file://" + path), {});
  PosixFileSystem files;
  EXPECT_EQ(*ReadFile(files, path), "words\nwords\n");
  ExpectError("PrintV2", {text}, To("nowhere"), Code::kInvalidArgument, "Unknown output stream");
  ExpectError("PrintV2", {Texts({"a"})}, {}, Code::kInvalidArgument, "");
}

}  // namespace
}  // namespace thalweg
