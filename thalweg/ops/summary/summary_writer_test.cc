// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/file_system.h"
#include "thalweg/base/test_file_size_limit.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

namespace value = pb::Summary::Value;

uint64_t Number(std::string_view bytes, size_t count) {
  uint64_t made = 0;
  for (size_t i = count; i-- > 0;) made = made << 8 | static_cast<uint8_t>(bytes[i]);
  return made;
}

// Steps that share a writer and its directory.
class SummaryWriterTest : public ::testing::Test {
 protected:
  Status Call(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    inputs.insert(inputs.begin(), writer_);
    KernelCall call(op, std::move(inputs), std::move(attrs));
    call.step().resources = &resources_;
    return call.Run();
  }
  void Do(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    const Status status = Call(op, std::move(inputs), std::move(attrs));
    EXPECT_TRUE(status.ok()) << op << ": " << status.ToString();
  }
  void Refuse(std::string_view op, std::vector<Tensor> inputs, Code code, std::string_view words) {
    const Status status = Call(op, std::move(inputs));
    EXPECT_EQ(status.code(), code) << op << ": " << status.ToString();
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.ToString();
  }
  void SetUp() override {
    KernelCall call("SummaryWriter", {}, {{"shared_name", "w"}});
    ASSERT_TRUE(call.Run().ok());
    writer_ = call.output(0);
  }
  void Open(int32_t max_queue) {
    Do("CreateSummaryFileWriter",
       {Tensor::Scalar(directory_.Path("logs")), Tensor::Scalar(max_queue),
        Tensor::Scalar<int32_t>(1 << 30), Tensor::Scalar("v2")});
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.Path("logs"))) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  // The events of the one file, checksums checked.
  std::vector<OwnedMessage> Events() {
    PosixFileSystem files;
    const std::string bytes = ReadFile(files, directory_.Path("logs/" + Names().at(0))).value();
    std::vector<OwnedMessage> events;
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const uint64_t size = Number(rest, 8);
      EXPECT_EQ(Number(rest.substr(8), 4), MaskCrc32c(Crc32c(rest.substr(0, 8))));
      const std::string_view event = rest.substr(12, size);
      EXPECT_EQ(Number(rest.substr(12 + size), 4), MaskCrc32c(Crc32c(event)));
      events.push_back(ParseMessage(pb::Event::Descriptor(), event).value());
      rest.remove_prefix(size + 16);
    }
    return events;
  }
  const Message& ValueOf(const OwnedMessage& event) {
    return *event->GetMessage(pb::Event::kSummary).Messages(pb::Summary::kValue)[0];
  }

  const Tensor step_ = Tensor::Scalar<int64_t>(7), tag_ = Tensor::Scalar("t");
  Tensor writer_;
  ResourceManager resources_;
  TemporaryDirectory directory_;
};

TEST_F(SummaryWriterTest, WritesEventsThatOthersRead) {
  Open(100);
  Do("WriteScalarSummary", {step_, tag_, Tensor::Scalar<int32_t>(-3)});
  Do("WriteHistogramSummary", {step_, tag_, Tensor::Vector<float>({1, 2, 2})});
  Do("WriteSummary", {step_, Tensor::Vector<int64_t>({4, 5}), tag_, Tensor::Scalar("")});
  Do("WriteImageSummary",
     {step_, tag_, *Tensor::Vector<uint8_t>({9, 8}).Reshaped({1, 1, 2, 1}),
      Tensor::Vector<uint8_t>({0, 0, 0, 0})},
     {{"max_images", int64_t{1}}});
  Do("WriteAudioSummary",
     {step_, tag_, *Tensor::Vector<float>({.5f, -.5f}).Reshaped({1, 2}), Tensor::Scalar(8000.0f)});
  Do("WriteGraphSummary", {step_, Tensor::Scalar("")});
  Do("FlushSummaryWriter", {});
  const std::vector<OwnedMessage> events = Events();
  ASSERT_EQ(events.size(), 7U);
  EXPECT_EQ(events[0]->GetString(pb::Event::kFileVersion), "brain.Event:2");
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i]->GetInt(pb::Event::kStep), 7);
    EXPECT_GT(events[i]->GetDouble(pb::Event::kWallTime), 1.5e9);
  }
  EXPECT_EQ(ValueOf(events[1]).GetString(value::kTag), "t");
  EXPECT_EQ(ValueOf(events[1]).GetFloat(value::kSimpleValue), -3);
  EXPECT_EQ(ValueOf(events[2]).GetMessage(value::kHisto).GetDouble(pb::HistogramProto::kSum), 5);
  const Tensor read = TensorFromProto(ValueOf(events[3]).GetMessage(value::kTensor)).value();
  EXPECT_EQ(read.ToString(), Tensor::Vector<int64_t>({4, 5}).ToString());
  EXPECT_EQ(ValueOf(events[4]).GetString(value::kTag), "t/image");
  EXPECT_EQ(ValueOf(events[4]).GetMessage(value::kImage).GetInt(pb::Summary::Image::kWidth), 2);
  EXPECT_EQ(ValueOf(events[5]).GetString(value::kTag), "t/audio/0");
}

TEST_F(SummaryWriterTest, TakesWholeMessages) {
  OwnedMessage event(pb::Event::Descriptor());
  event->SetDouble(pb::Event::kWallTime, 12.5);
  event->SetInt(pb::Event::kStep, 3);
  OwnedMessage summary(pb::Summary::Descriptor());
  summary->Add(pb::Summary::kValue)->SetString(value::kTag, "whole");
  Open(0);  // nothing waits
  Do("ImportEvent", {Tensor::Scalar(Serialize(*event).value())});
  Do("WriteRawProtoSummary", {step_, Tensor::Scalar(Serialize(*summary).value())});
  const std::vector<OwnedMessage> events = Events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[1]->GetDouble(pb::Event::kWallTime), 12.5);
  EXPECT_EQ(ValueOf(events[2]).GetString(value::kTag), "whole");
}

TEST_F(SummaryWriterTest, ClosesAndOpensAgain) {
  Open(100);
  Open(100);  // there is one already
  EXPECT_EQ(Names().size(), 1U);
  EXPECT_TRUE(Names()[0].starts_with("events.out.tfevents.")) << Names()[0];
  EXPECT_TRUE(Names()[0].ends_with(".v2")) << Names()[0];
  Do("WriteScalarSummary", {step_, tag_, Tensor::Scalar(1.0f)});
  EXPECT_EQ(Events().size(), 1U);  // it waits
  Do("CloseSummaryWriter", {});
  EXPECT_EQ(Events().size(), 2U);
  Refuse("WriteScalarSummary", {step_, tag_, Tensor::Scalar(1.0f)}, Code::kNotFound, "w");
  Open(100);
  EXPECT_EQ(Names().size(), 2U);
}

TEST_F(SummaryWriterTest, HistogramsOfTruthValues) {
  Open(100);
  Tensor truth = *Tensor::AllocateHost(DType::kBool, Shape{3});
  std::fill_n(truth.mutable_data<bool>(), 2, true);
  truth.mutable_data<bool>()[2] = false;
  Do("WriteHistogramSummary", {step_, tag_, truth});
  Do("FlushSummaryWriter", {});
  const std::vector<OwnedMessage> events = Events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(ValueOf(events[1]).GetMessage(value::kHisto).GetDouble(pb::HistogramProto::kSum), 2);
}

TEST_F(SummaryWriterTest, AFullDiskEndsTheStepAndLosesNothing) {
  Open(0);
  Do("WriteScalarSummary", {step_, tag_, Tensor::Scalar(1.0F)});
  const std::string path = directory_.Path("logs") + "/" + Names().at(0);
  {
    const FileSizeLimit limit(std::filesystem::file_size(path) + 5);
    Refuse("WriteScalarSummary", {step_, tag_, Tensor::Scalar(2.0F)}, Code::kResourceExhausted,
           path);
    Refuse("WriteScalarSummary", {step_, tag_, Tensor::Scalar(3.0F)}, Code::kResourceExhausted,
           "2 events wait");
    EXPECT_EQ(Events().size(), 2U);  // whole records and nothing else
  }
  Do("FlushSummaryWriter", {});
  const std::vector<OwnedMessage> events = Events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(ValueOf(events[2]).GetFloat(value::kSimpleValue), 2);
  EXPECT_EQ(ValueOf(events[3]).GetFloat(value::kSimpleValue), 3);
}

TEST_F(SummaryWriterTest, ARemovedFileEndsTheStep) {
  Open(0);
  std::filesystem::remove_all(directory_.Path("logs"));
  Refuse("WriteScalarSummary", {step_, tag_, Tensor::Scalar(1.0F)}, Code::kNotFound, "was removed");
}

TEST_F(SummaryWriterTest, DatabasesAreRefusedWithTheReason) {
  const Tensor name = Tensor::Scalar("x");
  Refuse("CreateSummaryDbWriter", {name, name, name, name}, Code::kUnimplemented, "event files");
}

TEST_F(SummaryWriterTest, RefusesWhatNobodyCouldRead) {
  Refuse("FlushSummaryWriter", {}, Code::kNotFound, "w");
  Open(100);
  const Tensor two = Tensor::Vector<float>({1, 2});
  const Tensor bytes = Tensor::Scalar("\xff\xff");
  Refuse("WriteScalarSummary", {step_, tag_, two}, Code::kInvalidArgument, "value");
  Refuse("WriteScalarSummary", {step_, Tensor::Vector<std::string>({"a", "b"}), two},
         Code::kInvalidArgument, "tag");
  Refuse("WriteHistogramSummary", {step_, tag_, Tensor::Scalar(std::nanf(""))},
         Code::kInvalidArgument, "for: under_test");
  Refuse("WriteImageSummary", {step_, tag_, two, Tensor::Vector<uint8_t>({0})},
         Code::kInvalidArgument, "");
  Refuse("WriteImageSummary",
         {step_, tag_, *Tensor::Vector<uint8_t>({9}).Reshaped({1, 1, 1, 1}),
          *Tensor::Vector<uint8_t>({0}).Reshaped({1, 1})},
         Code::kInvalidArgument, "bad_color");
  Refuse("WriteRawProtoSummary", {step_, bytes}, Code::kDataLoss, "");
  Refuse("WriteGraphSummary", {step_, bytes}, Code::kDataLoss, "");
  Refuse("ImportEvent", {bytes}, Code::kInvalidArgument, "");
  Refuse("CreateSummaryFileWriter",
         {Tensor::Scalar(directory_.path()), Tensor::Scalar(1), Tensor::Scalar(1),
          Tensor::Scalar("/../x")},
         Code::kInvalidArgument, "filename_suffix");
}

}  // namespace
}  // namespace thalweg
