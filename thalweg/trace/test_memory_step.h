// SPDX-License-Identifier: Apache-2.0
// TestMemoryStep: a RunMetadata message of one device for tests, whose nodes tell of memory. Times
// are microseconds.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/trace/step_stats_reader.h"
#include "thalweg/trace/trace_reader.h"

namespace thalweg {

class TestMemoryStep {
 public:
  explicit TestMemoryStep(int64_t begin = 0) : begin_(1'700'000'000'000'000 + begin) {
    device_ = metadata_->Mutable(pb::RunMetadata::kStepStats)->Add(pb::StepStats::kDevStats);
    device_->SetString(pb::DeviceStepStats::kDevice, "/device:CPU:0");
  }

  // What follows is of this node.
  TestMemoryStep& Node(const std::string& name, const std::string& op, int64_t start, int64_t end) {
    namespace Exec = pb::NodeExecStats;
    node_ = device_->Add(pb::DeviceStepStats::kNodeStats);
    node_->SetString(Exec::kNodeName, name);
    node_->SetString(Exec::kTimelineLabel, name + " = " + op);
    node_->SetInt(Exec::kAllStartMicros, begin_ + start);
    node_->SetInt(Exec::kAllEndRelMicros, end - start);
    used_ = nullptr;
    return *this;
  }
  TestMemoryStep& Came(int64_t at, int64_t bytes) {
    Message* const record = Used()->Add(pb::AllocatorMemoryUsed::kAllocationRecords);
    record->SetInt(pb::AllocationRecord::kAllocMicros, begin_ + at);
    record->SetInt(pb::AllocationRecord::kAllocBytes, bytes);
    return *this;
  }
  TestMemoryStep& Went(int64_t at, int64_t bytes) { return Came(at, -bytes); }
  TestMemoryStep& InUse(int64_t bytes) {
    Used()->SetInt(pb::AllocatorMemoryUsed::kAllocatorBytesInUse, bytes);
    return *this;
  }
  // Of floats.
  TestMemoryStep& Output(int64_t bytes, int64_t allocated, uint64_t address) {
    Message* const tensor =
        node_->Add(pb::NodeExecStats::kOutput)->Mutable(pb::NodeOutput::kTensorDescription);
    tensor->SetInt(pb::TensorDescription::kDtype, 1);
    tensor->Mutable(pb::TensorDescription::kShape)
        ->Add(pb::TensorShapeProto::kDim)
        ->SetInt(pb::TensorShapeProto::Dim::kSize, bytes / 4);
    Message* const buffer = tensor->Mutable(pb::TensorDescription::kAllocationDescription);
    buffer->SetInt(pb::AllocationDescription::kRequestedBytes, bytes);
    buffer->SetInt(pb::AllocationDescription::kAllocatedBytes, allocated);
    buffer->SetUint(pb::AllocationDescription::kPtr, address);
    return *this;
  }
  TestMemoryStep& Persistent(int64_t bytes) {
    node_->Mutable(pb::NodeExecStats::kMemoryStats)
        ->SetInt(pb::MemoryStats::kPersistentMemorySize, bytes);
    return *this;
  }
  // A node of the partition graph, made in `build` at a line of a file; "": nobody knows where.
  void Graph(const std::string& name, const std::string& op,
             std::initializer_list<std::string> inputs, const std::string& file, int64_t line) {
    if (graph_ == nullptr) graph_ = metadata_->Add(pb::RunMetadata::kPartitionGraphs);
    Message* const node = graph_->Add(pb::GraphDef::kNode);
    node->SetString(pb::NodeDef::kName, name);
    node->SetString(pb::NodeDef::kOp, op);
    for (const std::string& input : inputs) node->AddString(pb::NodeDef::kInput, input);
    if (file.empty()) return;
    namespace Info = pb::GraphDebugInfo;
    Message* const info = graph_->Mutable(pb::GraphDef::kDebugInfo);
    const auto number = static_cast<int64_t>(info->Size(Info::kFiles));
    info->AddString(Info::kFiles, file);
    Message* const frame =
        info->MapMutable(Info::kTraces, name)->Add(Info::StackTrace::kFileLineCols);
    frame->SetInt(Info::FileLineCol::kFileIndex, number);
    frame->SetInt(Info::FileLineCol::kLine, line);
    frame->SetString(Info::FileLineCol::kFunc, "build");
  }
  std::string Bytes() const { return Serialize(*metadata_).value(); }
  std::unique_ptr<Trace> Finished() const {
    auto trace = std::make_unique<Trace>();
    EXPECT_TRUE(StepStatsReader(trace.get(), true).Add("step.pb", Bytes()).ok());
    EXPECT_TRUE(FinishTrace(trace.get()).ok());
    return trace;
  }

 private:
  Message* Used() {
    if (used_ == nullptr) {
      used_ = node_->Add(pb::NodeExecStats::kMemory);
      used_->SetString(pb::AllocatorMemoryUsed::kAllocatorName, "cpu");
    }
    return used_;
  }

  const int64_t begin_;
  OwnedMessage metadata_{pb::RunMetadata::Descriptor()};
  Message* device_ = nullptr;
  Message* node_ = nullptr;
  Message* used_ = nullptr;
  Message* graph_ = nullptr;
};

}  // namespace thalweg
