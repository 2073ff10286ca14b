// SPDX-License-Identifier: Apache-2.0
// Compact recordings are those that they were made of, and nothing that looks like one does harm.
#include "thalweg/trace/packed_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/deflate.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/trace/recording_file.h"
#include "thalweg/trace/test_memory_step.h"
#include "thalweg/trace/test_step.h"
#include "thalweg/trace/trace_page.h"
#include "thalweg/trace/trace_summary.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

namespace Exec = pb::NodeExecStats;

std::string Gzipped(std::string_view bytes) {
  Deflater deflater = Deflater::Make(Compression::kGzip).value();
  std::string out;
  EXPECT_TRUE(deflater.Add(bytes, &out).ok());
  EXPECT_TRUE(deflater.Finish(&out).ok());
  return out;
}

std::string Unpacked(std::string_view packed) {
  const Result<PackedRecording> recording = PackedRecording::Open(packed);
  if (!recording.ok()) return recording.status().ToString();
  const Result<std::string> bytes = recording->Unpack();
  return bytes.ok() ? *bytes : bytes.status().ToString();
}

// A node that has all that both frameworks and we write of one.
void AddFullNode(int i, std::string* device) {
  std::string node, memory, record, output, tensor, allocation, switches;
  const int64_t start = 1'700'000'000'000'000'000 + i * 1'234;
  AddWireText(Exec::kNodeName, "layer_" + std::to_string(i % 7), &node);
  AddWireInt(Exec::kAllStartMicros, start / 1000, &node);
  AddWireInt(Exec::kOpStartRelMicros, 1, &node);
  AddWireInt(Exec::kOpEndRelMicros, 5 + i % 3, &node);
  AddWireInt(Exec::kAllEndRelMicros, 6 + i % 3, &node);
  AddWireInt(pb::AllocationRecord::kAllocMicros, start / 1000 + 2, &record);
  AddWireInt(pb::AllocationRecord::kAllocBytes, i % 2 == 0 ? -64 : 64, &record);
  AddWireText(pb::AllocatorMemoryUsed::kAllocatorName, "cpu", &memory);
  AddWireText(pb::AllocatorMemoryUsed::kAllocationRecords, record, &memory);
  AddWireText(Exec::kMemory, memory, &node);
  AddWireNumber(pb::AllocationDescription::kRequestedBytes, 64, &allocation);
  AddWireNumber(pb::AllocationDescription::kPtr, 0x7fff'0000'0000 + uint64_t(i % 3) * 64,
                &allocation);
  AddWireText(pb::TensorDescription::kAllocationDescription, allocation, &tensor);
  AddWireText(pb::NodeOutput::kTensorDescription, tensor, &output);
  AddWireText(Exec::kOutput, output, &node);
  AddWireText(Exec::kTimelineLabel, "layer_" + std::to_string(i % 7) + " = MatMul(a, b)", &node);
  AddWireInt(Exec::kScheduledMicros, start / 1000 - 3, &node);
  AddWireNumber(Exec::kThreadId, static_cast<uint64_t>(i % 2), &node);
  AddWireInt(Exec::kAllStartNanos, start, &node);
  AddWireInt(Exec::kAllEndRelNanos, 6'500 + i % 911, &node);
  AddWireInt(Exec::kScheduledNanos, start - 3'000, &node);
  AppendVarint(switches, static_cast<uint64_t>(i));
  AppendVarint(switches, 2 * static_cast<uint64_t>(i) + 1);
  if (i % 5 == 0) AddWireText(kNodeSwitchesField, switches, &node);
  AddWireText(77, "a field that nobody knows", &node);
  AppendTag(node, 78, WireType::kFixed64);
  AppendFixed64(node, static_cast<uint64_t>(i) << 40);
  AppendTag(node, 79, WireType::kFixed32);
  AppendFixed32(node, static_cast<uint32_t>(i));
  AddWireText(pb::DeviceStepStats::kNodeStats, node, device);
}

std::string FullRecording(int nodes) {
  std::string bytes, stats;
  for (const std::string& name : {kPs, kWorker}) {
    std::string device;
    AddWireText(pb::DeviceStepStats::kDevice, name, &device);
    for (int i = 0; i < nodes; ++i) AddFullNode(i, &device);
    AddWireText(kSwitchesMissingField, "a reason", &device);
    AddWireText(pb::StepStats::kDevStats, device, &stats);
  }
  AddWireText(pb::RunMetadata::kStepStats, stats, &bytes);
  AddWireText(pb::RunMetadata::kPartitionGraphs, "", &bytes);
  return bytes;
}

// All that is told of them.
std::string Told(const std::string& bytes) {
  Trace trace;
  StepStatsReader reader(&trace, true);
  const Status status = ReadRecording("step", bytes, &reader);
  if (!status.ok()) return status.ToString();
  EXPECT_TRUE(FinishTrace(&trace).ok());
  std::string text = SummaryJson(trace, Summarize(trace, SlowestStep(trace)));
  text += TracePage(trace);
  for (const TraceSwitch& each : trace.switches) {
    text += std::to_string(each.begin) + "-" + std::to_string(each.end) + " ";
  }
  return text;
}

std::string GoldenSteps(const char* release) {
  PosixFileSystem fs;
  return ReadFile(fs, std::string(THALWEG_GOLDEN_DIR "/traces/cluster_") + release + ".pb").value();
}

TEST(PackedRecordingTest, WhatIsUnpackedIsWhatWasPacked) {
  TestStep step;
  step.Node(kPs, "a", "Const", 0, 1).Node(kWorker, "b", "MatMul(a)", 3, 9).NoProcessor(1, 2, true);
  step.LeftOut(kPs, 5, {{"c", 7}});
  step.GraphNode(0, "a", "Const", {});
  TestStep without_nodes;
  without_nodes.LeftOut(kPs, 5, {{"c", 7}});
  for (const std::string& bytes :
       {step.Bytes(), without_nodes.Bytes(), FullRecording(500), GoldenSteps("1.15"),
        GoldenSteps("2.21"), std::string(), std::string("\n\0", 2)}) {
    const std::string packed = PackRecording(bytes);
    EXPECT_TRUE(IsPackedRecording(packed));
    EXPECT_EQ(Unpacked(packed), bytes);
    if (bytes.size() < 10) continue;
    EXPECT_TRUE(Told(CompactRecording(bytes).value()) == Told(bytes));
  }
}

TEST(PackedRecordingTest, BytesThatNoWriterWritesComeBackToo) {
  const std::string bytes = FullRecording(20);
  std::mt19937 random(1);
  for (size_t length = 0; length < bytes.size(); length += 7) {
    const std::string cut = bytes.substr(0, length);
    ASSERT_EQ(Unpacked(PackRecording(cut)), cut) << length;
  }
  for (int i = 0; i < 2000; ++i) {
    std::string changed = bytes;
    changed[random() % changed.size()] = static_cast<char>(random());
    ASSERT_EQ(Unpacked(PackRecording(changed)), changed) << i;
  }
  // Numbers and lengths that are longer than they need be, and those whose tenth byte is not.
  std::string node, device, stats, all;
  AddWireText(Exec::kNodeName, "n", &node);
  node += std::string("\x68\x85\x80\x80\x00", 5);
  node += std::string("\x42\x83\x00xyz", 6);
  node += std::string("\x32\x85\x80\x00\x0a\x82\x00z", 8) + "z";
  for (const std::string& tail : {std::string(), "\x50" + std::string(9, '\xff') + "\x7f",
                                  "\x42\x83" + std::string(8, '\x80') + "\x02xyz"}) {
    AddWireText(pb::DeviceStepStats::kNodeStats, node + tail, &device);
  }
  AddWireText(pb::StepStats::kDevStats, device, &stats);
  AddWireText(pb::RunMetadata::kStepStats, stats, &all);
  EXPECT_EQ(Unpacked(PackRecording(all)), all);
  EXPECT_EQ(PackedRecording::Open(PackRecording(all))->nodes(), 1u)
      << "the others stay as they are";
}

TEST(PackedRecordingTest, ANodeTakesFewBytes) {
  constexpr int kNodes = 20'000;
  std::string device, stats, bytes;
  std::mt19937_64 random(1);
  int64_t at = 1'700'000'000'000'000'000;
  AddWireText(pb::DeviceStepStats::kDevice, kPs, &device);
  for (int i = 0; i < kNodes; ++i) {
    std::string node;
    const std::string name = "layer_" + std::to_string(random() % 1000) + "/op";
    const auto time = static_cast<int64_t>(random() % 4000);
    AddWireText(Exec::kNodeName, name, &node);
    AddWireInt(Exec::kAllStartMicros, at / 1000, &node);
    AddWireInt(Exec::kAllEndRelMicros, time / 1000, &node);
    AddWireText(Exec::kTimelineLabel, name + " = MatMul", &node);
    AddWireInt(Exec::kAllStartNanos, at, &node);
    AddWireInt(Exec::kAllEndRelNanos, time, &node);
    AddWireText(pb::DeviceStepStats::kNodeStats, node, &device);
    at += time + static_cast<int64_t>(random() % 600);
  }
  AddWireText(pb::StepStats::kDevStats, device, &stats);
  AddWireText(pb::RunMetadata::kStepStats, stats, &bytes);
  EXPECT_LT(CompactRecording(bytes)->size(), kNodes * 7);
  EXPECT_GT(bytes.size(), kNodes * 50);
}

TEST(PackedRecordingTest, ALargeOneIsReadPieceByPiece) {
  const std::string bytes = FullRecording(20'000);  // of several pieces a device
  ASSERT_GT(bytes.size(), size_t{4} << 20);
  Trace whole, pieces;
  StepStatsReader(&whole).Add("step", bytes).IgnoreError();
  StepStatsReader reader(&pieces);
  ASSERT_TRUE(ReadRecording("step", PackRecording(bytes), &reader).ok());
  ASSERT_EQ(pieces.spans.size(), whole.spans.size());
  for (size_t i = 0; i < whole.spans.size(); ++i) {
    ASSERT_EQ(pieces.spans[i].start, whole.spans[i].start);
    ASSERT_EQ(pieces.spans[i].device, whole.spans[i].device);
    ASSERT_EQ(pieces.NameOf(pieces.spans[i]), whole.NameOf(whole.spans[i]));
  }
  EXPECT_EQ(pieces.switches.size(), whole.switches.size());
  EXPECT_EQ(pieces.notes, whole.notes);
}

TEST(PackedRecordingTest, EachFormIsKnownByItsFirstBytes) {
  const std::string bytes = GoldenSteps("2.21");
  const std::string text = PrintText(**ParseMessage(pb::RunMetadata::Descriptor(), bytes)).value();
  const std::string compact = CompactRecording(bytes).value(), told = Told(bytes);
  EXPECT_TRUE(compact.starts_with("\x1f\x8b"));
  for (const std::string& form : {Gzipped(bytes), compact, PackRecording(bytes)}) {
    EXPECT_EQ(Told(form), told);
    EXPECT_EQ(MessageOfRecording(form).value(), bytes);
    EXPECT_EQ(CompactRecording(form).value(), compact);
  }
  EXPECT_EQ(Told(Gzipped(text)), Told(text));
  EXPECT_EQ(MessageOfRecording(compact).value(), bytes);
}

TEST(PackedRecordingTest, WhatIsNoneIsSaidInASentence) {
  const auto said = [](const std::string& bytes) {
    std::string why = MessageOfRecording(bytes).status().ToString();
    EXPECT_THAT(Told(bytes), HasSubstr(why.substr(why.find(": ") + 2)));
    return why;
  };
  const std::string bytes = GoldenSteps("2.21");
  const std::string compact = CompactRecording(bytes).value();
  EXPECT_THAT(said(compact.substr(0, compact.size() / 2)),
              HasSubstr("the compressed bytes end too early, at byte "));
  EXPECT_THAT(said(Gzipped("{}")), HasSubstr("found JSON"));
  EXPECT_THAT(said("\x28\xb5\x2f\xfd and more"), HasSubstr("zstd"));
  EXPECT_THAT(said(Gzipped(compact)), HasSubstr("found what gzip has compressed twice"));
  EXPECT_THAT(Told(Gzipped("")), HasSubstr("found no bytes"));
  std::string changed = compact;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 0x10);
  EXPECT_THAT(said(changed), HasSubstr("gzip has compressed"));
  const std::string packed = PackRecording(bytes);
  EXPECT_THAT(said(packed.substr(0, packed.size() / 2)),
              HasSubstr("expected a whole compact recording, found it damaged: it ends too early"));
  EXPECT_THAT(said(packed.substr(0, 9)), HasSubstr("it ends at its head"));
}

// Of few bytes that say that they are many.
TEST(PackedRecordingTest, WhatUnpacksToMoreThanARecordingHasIsRefused) {
  const std::string zeros = Gzipped(std::string(size_t{3} << 20, '\0'));
  EXPECT_LT(zeros.size(), 10'000u);
  EXPECT_THAT(MessageOfRecording(zeros, uint64_t{1} << 20).status().ToString(),
              HasSubstr("expected a recording of at most 1.05 MB, found one that unpacks to more"));
  std::string large = PackRecording("").substr(0, 8);
  AppendVarint(large, uint64_t{1} << 40);
  AppendVarint(large, 0);
  EXPECT_THAT(MessageOfRecording(large).status().ToString(),
              HasSubstr("expected a compact recording of at most 1.07 GB"));
  // A text of a kilobyte in each of many nodes.
  std::string device, stats, all;
  for (int i = 0; i < 100; ++i) {
    std::string node;
    AddWireText(Exec::kNodeName, std::string(1000, 'n'), &node);
    AddWireText(pb::DeviceStepStats::kNodeStats, node, &device);
  }
  AddWireText(pb::StepStats::kDevStats, device, &stats);
  AddWireText(pb::RunMetadata::kStepStats, stats, &all);
  std::string packed = PackRecording(all);
  ASSERT_EQ(Unpacked(packed), all);
  std::string less = packed.substr(0, 8);
  AppendVarint(less, 20'000);
  less += packed.substr(8 + 3);  // of the size that it said, three bytes
  EXPECT_THAT(Unpacked(less), HasSubstr("it holds more bytes than it says"));
}

TEST(PackedRecordingTest, NoDamagedByteHarms) {
  const std::string packed = PackRecording(FullRecording(12));
  std::mt19937 random(1);
  size_t refused = 0;
  for (size_t at = 0; at < packed.size(); ++at) {
    for (int i = 0; i < 3; ++i) {
      std::string changed = packed;
      changed[at] = static_cast<char>(i == 0 ? 0xff : random());
      Trace trace;
      StepStatsReader reader(&trace, true);
      refused += ReadRecording("step", changed, &reader).ok() ? 0 : 1;
      EXPECT_LT(trace.spans.size(), 1000u);
    }
    EXPECT_THAT(Unpacked(packed.substr(0, at)), HasSubstr("damaged"));
  }
  EXPECT_GT(refused, packed.size() / 2);
}

}  // namespace
}  // namespace thalweg
