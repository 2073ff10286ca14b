// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

namespace value = pb::Summary::Value;

OwnedMessage ValueSummaryOf(const KernelCall& call) {
  auto parsed = ParseMessage(pb::Summary::Descriptor(),
                             std::string_view(call.output(0).scalar<std::string>()));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(*parsed);
}

std::string Scalars(const std::vector<std::string>& tags, float each) {
  const Shape shape{static_cast<int64_t>(tags.size())};
  const std::vector<float> values(tags.size(), each);
  KernelCall call("ScalarSummary",
                  {Tensor::Of<std::string>(tags, shape), Tensor::Of<float>(values, shape)});
  EXPECT_TRUE(call.Run().ok());
  return call.output(0).scalar<std::string>();
}

TEST(SummaryValueTest, ANumberForEachTag) {
  KernelCall call("ScalarSummary",
                  {Tensor::Vector<std::string>({"a", "b"}), Tensor::Vector<double>({1.5, -2})});
  ASSERT_TRUE(call.Run().ok());
  const OwnedMessage summary = ValueSummaryOf(call);
  ASSERT_EQ(summary->Size(pb::Summary::kValue), 2U);
  const Message& second = *summary->Messages(pb::Summary::kValue)[1];
  EXPECT_EQ(second.GetString(value::kTag), "b");
  EXPECT_EQ(second.GetFloat(value::kSimpleValue), -2);
}

TEST(SummaryValueTest, TagsAndValuesOfOtherShapes) {
  // Shapes that are known are refused when the node is made.
  KernelCall call("ScalarSummary",
                  {Tensor::Vector<std::string>({"a", "b"}), Tensor::Vector<float>({1, 2, 3})});
  EXPECT_EQ(call.Run().code(), Code::kInvalidArgument);
}

// What TensorFlow 2.21 gives for these values.
TEST(SummaryValueTest, HistogramHasTheRecordedBuckets) {
  KernelCall call("HistogramSummary",
                  {Tensor::Scalar("h"), Tensor::Vector<float>({1, -2, 0, 1e30F, 3})});
  ASSERT_TRUE(call.Run().ok());
  const OwnedMessage summary = ValueSummaryOf(call);
  const Message& h = summary->Messages(pb::Summary::kValue)[0]->GetMessage(value::kHisto);
  EXPECT_EQ(h.GetDouble(pb::HistogramProto::kMin), -2);
  EXPECT_EQ(h.GetDouble(pb::HistogramProto::kMax), 1.0000000150474662e+30);
  EXPECT_EQ(h.GetDouble(pb::HistogramProto::kNum), 5);
  EXPECT_EQ(h.GetDouble(pb::HistogramProto::kSumSquares), 1.0000000300949327e+60);
  const auto limits = h.Repeated<double>(pb::HistogramProto::kBucketLimit);
  EXPECT_EQ(
      std::vector<double>(limits.begin(), limits.end()),
      (std::vector<double>{-2.1628190051144287, -1.9661990955585713, 0, 1e-12, 0.917246389039776,
                           1.0089710279437536, 2.8787120958073054, 3.1665833053880363,
                           9.9207756218597835e+19, 1.7976931348623157e+308}));
  const auto counts = h.Repeated<double>(pb::HistogramProto::kBucket);
  EXPECT_EQ(std::vector<double>(counts.begin(), counts.end()),
            (std::vector<double>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
}

TEST(SummaryValueTest, EmptyHistogramHasOneBucket) {
  KernelCall call("HistogramSummary", {Tensor::Scalar("h"), Tensor::Vector<int32_t>({})});
  ASSERT_TRUE(call.Run().ok());
  const OwnedMessage summary = ValueSummaryOf(call);
  const Message& h = summary->Messages(pb::Summary::kValue)[0]->GetMessage(value::kHisto);
  ASSERT_EQ(h.Repeated<double>(pb::HistogramProto::kBucketLimit).size(), 1U);
  EXPECT_EQ(h.Repeated<double>(pb::HistogramProto::kBucketLimit)[0], 1.7976931348623157e+308);
  EXPECT_EQ(h.GetDouble(pb::HistogramProto::kMin), 1.7976931348623157e+308);
}

TEST(SummaryValueTest, HistogramTakesFiniteValuesOnly) {
  for (const float bad : {std::nanf(""), HUGE_VALF}) {
    KernelCall call("HistogramSummary", {Tensor::Scalar("h"), Tensor::Vector<float>({1, bad})});
    const Status status = call.Run();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("under_test"), std::string::npos) << status.message();
  }
  KernelCall tags("HistogramSummary",
                  {Tensor::Vector<std::string>({"h", "k"}), Tensor::Vector<float>({1})});
  EXPECT_EQ(tags.Run().code(), Code::kInvalidArgument);
}

TEST(SummaryValueTest, MergeKeepsAllValuesAndRefusesATagTwice) {
  KernelCall merged("MergeSummary",
                    {Tensor::Scalar(Scalars({"a", "b"}, 1)),
                     Tensor::Vector<std::string>({Scalars({"c"}, 2), ""})},
                    {{"N", 2}});
  ASSERT_TRUE(merged.Run().ok());
  EXPECT_EQ(ValueSummaryOf(merged)->Size(pb::Summary::kValue), 3U);
  KernelCall twice("MergeSummary",
                   {Tensor::Scalar(Scalars({"a"}, 1)), Tensor::Scalar(Scalars({"a"}, 1))},
                   {{"N", 2}});
  const Status status = twice.Run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("Duplicate tag a"), std::string::npos) << status.message();
  KernelCall bad("MergeSummary", {Tensor::Scalar("xxx")}, {{"N", 1}});
  EXPECT_EQ(bad.Run().code(), Code::kInvalidArgument);
}

TEST(SummaryValueTest, TensorsWithTagOrName) {
  KernelCall tagged("TensorSummaryV2", {Tensor::Scalar("t"), Tensor::Vector<int32_t>({1, 2}),
                                        Tensor::Scalar("\x12\x01n")});  // display_name: "n"
  ASSERT_TRUE(tagged.Run().ok());
  OwnedMessage summary = ValueSummaryOf(tagged);
  const Message& one = *summary->Messages(pb::Summary::kValue)[0];
  EXPECT_EQ(one.GetString(value::kTag), "t");
  EXPECT_EQ(one.GetMessage(value::kMetadata).GetString(pb::SummaryMetadata::kDisplayName), "n");
  auto tensor = TensorFromProto(one.GetMessage(value::kTensor));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->data<int32_t>()[1], 2);

  KernelCall named("TensorSummary", {Tensor::Scalar(1.0F)});
  ASSERT_TRUE(named.Run().ok());
  summary = ValueSummaryOf(named);
  EXPECT_EQ(summary->Messages(pb::Summary::kValue)[0]->GetString(value::kNodeName), "under_test");

  KernelCall bad("TensorSummaryV2",
                 {Tensor::Scalar("t"), Tensor::Scalar(1), Tensor::Scalar("\x12\x09n")});
  EXPECT_EQ(bad.Run().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
