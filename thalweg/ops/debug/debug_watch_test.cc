// SPDX-License-Identifier: Apache-2.0
// Numbers are those of TensorFlow 2.21.
#include <cmath>
#include <limits>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"
#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
const Tensor kMixed = Tensor::Vector<float>({1, kNan, -kInf, kInf, 0, -2});

std::vector<double> Summary(const Tensor& x, AttrMap attrs = {}) {
  attrs.Set("tensor_name", "a:0");
  KernelCall call("DebugNumericSummary", {x}, std::move(attrs));
  EXPECT_TRUE(call.Run().ok());
  const auto values = call.output(0).flat<double>();
  return {values.begin(), values.end()};
}

void ExpectNumbers(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else {
      EXPECT_DOUBLE_EQ(got[i], wanted[i]) << i;
    }
  }
}

TEST(DebugWatchTest, NumericSummary) {
  ExpectNumbers(Summary(kMixed), {1, 6, 1, 1, 1, 1, 1, 1, -2, 1, -1.0 / 3, 14.0 / 9, 1, 1, 6});
  ExpectNumbers(Summary(Tensor::Vector<int32_t>({1, 2, 3})),
                {1, 3, 0, 0, 0, 0, 3, 0, 1, 3, 2, 2.0 / 3, 3, 1, 3});
  ExpectNumbers(Summary(Tensor::Vector<float>({})),
                {1, 0, 0, 0, 0, 0, 0, 0, kInf, -kInf, kNan, kNan, 1, 1, 0});
  ExpectNumbers(Summary(Tensor::Scalar(3.0f)), {1, 1, 0, 0, 0, 0, 1, 0, 3, 3, 3, 0, 1, 0});
  ExpectNumbers(Summary(Tensor::Scalar(true)), {1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 10, 0});
  ExpectNumbers(Summary(kMixed, {{"lower_bound", -1.5f}, {"upper_bound", 0.5f}}),
                {1, 6, 1, 2, 0, 1, 0, 2, -2, 1, -1.0 / 3, 14.0 / 9, 1, 1, 6});
  ExpectNumbers(Summary(kMixed, {{"lower_bound", 2.0f}, {"upper_bound", 0.5f}}),
                {1, 6, 1, 4, 0, 0, 0, 1, -2, 1, -1.0 / 3, 14.0 / 9, 1, 1, 6});
}

TEST(DebugWatchTest, NumericSummaryV2) {
  const auto summary = [](const Tensor& x, int64_t mode, DType dtype = DType::kDouble) {
    KernelCall call("DebugNumericSummaryV2", {x},
                    {{"tensor_debug_mode", mode}, {"tensor_id", 7}, {"output_dtype", dtype}});
    EXPECT_TRUE(call.Run().ok());
    const auto values = call.output(0).flat<double>();
    return std::vector<double>(values.begin(), values.end());
  };
  ExpectNumbers(summary(kMixed, 2), {7, 1});
  ExpectNumbers(summary(kMixed, 3), {7, 6, 1, 1, 1});
  ExpectNumbers(summary(kMixed, 4), {7, -1, 1, 1, 6, 1, 1, 1, 1, 1, 1});
  ExpectNumbers(summary(kMixed, 5), {7, 1, 1, 6, 6, 0, 0, 0, 0, 0});
  ExpectNumbers(summary(kMixed, 8), {-kInf, kInf, kNan});
  const Tensor deep = *Tensor::AllocateHost(DType::kBool, Shape{2, 3, 4, 5, 6, 7, 8});
  ExpectNumbers(summary(deep, 5), {7, 10, 7, 40320, 3, 4, 5, 6, 7, 8});
  ExpectNumbers(summary(Tensor::Vector<int32_t>({1, -2, 0}), 4),
                {7, -1, 3, 1, 3, 0, 0, 0, 1, 1, 1});
  KernelCall unknown("DebugNumericSummaryV2", {kMixed}, {{"tensor_debug_mode", 6}});
  EXPECT_EQ(unknown.Run().code(), Code::kUnimplemented);
  KernelCall large("DebugNumericSummaryV2", {kMixed},
                   {{"tensor_debug_mode", 3}, {"tensor_id", (1 << 24) + 9}});
  EXPECT_EQ(large.Run().code(), Code::kInvalidArgument);
}

TEST(DebugWatchTest, CountsNan) {
  ExpectOutputs("DebugNanCount", {kMixed}, {{"tensor_name", "a:0"}},
                {Tensor::Vector<int64_t>({1})});
  ExpectOutputs("DebugNanCount", {Tensor::Scalar(1)}, {{"tensor_name", "a:0"}},
                {Tensor::Vector<int64_t>({0})});
}

TEST(DebugWatchTest, PassesWhatItSees) {
  const AttrMap named = {{"tensor_name", "a:0"}};
  const Tensor text = Tensor::Vector<std::string>({"a", "b"});
  ExpectOutputs("DebugIdentity", {text}, named, {text});
  ExpectOutputs("DebugIdentityV2", {text}, {}, {text});
  ExpectOutputs("DebugIdentityV3", {text}, named, {text});
  ExpectOutputs("DebugGradientIdentity", {text}, {}, {text});
  for (const char* name : {"output_slot", "tensor_debug_mode"}) {
    ExpectError("DebugIdentityV2", {text}, {{name, int64_t{1} << 40}}, Code::kInvalidArgument,
                name);
  }
  ExpectError("DebugIdentity", {text}, {}, Code::kInvalidArgument, "Failed to parse tensor name");
  ExpectError("DebugIdentity", {text}, {{"tensor_name", "../../a:0"}}, Code::kInvalidArgument,
              "Failed to parse tensor name");
  const auto with_url = [&](const char* url) {
    return AttrMap{{"tensor_name", "a:0"}, {"debug_urls", std::vector<std::string>{url}}};
  };
  ExpectError("DebugIdentity", {text}, with_url("foo://x"), Code::kUnavailable,
              "Invalid debug target URL: foo://x");
  ExpectError("DebugIdentity", {text}, with_url("grpc://x:1"), Code::kUnimplemented,
              "no debug server");
}

TEST(DebugWatchTest, WritesFiles) {
  const TemporaryDirectory directory;
  const AttrMap attrs = {{"tensor_name", "a/b:3"},
                         {"device_name", "/job:x/device:CPU:0"},
                         {"debug_urls", std::vector<std::string>{"file://" + directory.path()}}};
  ExpectOutputs("DebugIdentity", {kMixed}, attrs, {kMixed});
  PosixFileSystem fs;
  const std::string folder = directory.path() + "/_tfdbg_device_,job_x,device_CPU_0/a";
  const auto names = fs.List(folder);
  ASSERT_TRUE(names.ok()) << names.status().ToString();
  ASSERT_EQ(names->size(), 1U);
  EXPECT_TRUE(names->front().starts_with("b_3_DebugIdentity_")) << names->front();
  const std::string event = *ReadFile(fs, folder + "/" + names->front());
  ASSERT_GT(event.size(), 11U);
  EXPECT_EQ(event[9], '\x2a');
  const auto size = static_cast<uint8_t>(event[10]);  // of one or two bytes
  const std::string bytes = event.substr(size < 128 ? 11 : 12);
  const auto summary = ParseMessage(pb::Summary::Descriptor(), std::string_view(bytes));
  ASSERT_TRUE(summary.ok()) << summary.status().ToString();
  namespace value = pb::Summary::Value;
  const Message& one = *(*summary)->Messages(pb::Summary::kValue)[0];
  EXPECT_EQ(one.GetString(value::kTag), "a/b");
  EXPECT_EQ(one.GetString(value::kNodeName), "a/b:3:DebugIdentity");
  const auto tensor = TensorFromProto(one.GetMessage(value::kTensor));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->ToString(), kMixed.ToString());
}

// As TensorFlow 2.21 has written it; 1.15's reader takes a number in a list for no value.
TEST(DebugWatchTest, WritesOneNumberAsBytes) {
  const TemporaryDirectory directory;
  const AttrMap attrs = {{"tensor_name", "x:0"},
                         {"device_name", "/device:CPU:0"},
                         {"debug_urls", std::vector<std::string>{"file://" + directory.path()}}};
  const Tensor three = Tensor::Scalar(3.0f);
  ExpectOutputs("DebugIdentity", {three}, attrs, {three});
  PosixFileSystem fs;
  const std::string folder = directory.path() + "/_tfdbg_device_,device_CPU_0";
  const auto names = fs.List(folder);
  ASSERT_TRUE(names.ok() && names->size() == 1);
  const std::string event = *ReadFile(fs, folder + "/" + names->front());
  EXPECT_NE(event.find(std::string("\x22\x04\x00\x00\x40\x40", 6)), std::string::npos);
}

}  // namespace
}  // namespace thalweg
