// SPDX-License-Identifier: Apache-2.0
// TestStep: a RunMetadata message for tests, node by node. Times are microseconds.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/trace_fields.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/trace/step_stats_reader.h"
#include "thalweg/trace/trace_reader.h"

namespace thalweg {

inline std::string CpuOf(const std::string& job, int task) {
  return "/job:" + job + "/replica:0/task:" + std::to_string(task) + "/device:CPU:0";
}

inline const std::string kPs = CpuOf("ps", 0), kWorker = CpuOf("worker", 0);

class TestStep {
 public:
  static constexpr int64_t kBegin = 1'700'000'000'000'000;

  TestStep& Node(const std::string& device, const std::string& name, const std::string& label,
                 int64_t start, int64_t end, int64_t scheduled = -1, uint64_t thread = 0) {
    namespace Exec = pb::NodeExecStats;
    Message* node = last_ = Device(device)->Add(pb::DeviceStepStats::kNodeStats);
    node->SetString(Exec::kNodeName, name);
    node->SetString(Exec::kTimelineLabel, label.starts_with('[') ? label : name + " = " + label);
    node->SetInt(Exec::kAllStartMicros, kBegin + start);
    node->SetInt(Exec::kAllEndRelMicros, end - start);
    node->SetInt(Exec::kScheduledMicros, kBegin + (scheduled < 0 ? start : scheduled));
    node->SetUint(Exec::kThreadId, static_cast<uint32_t>(thread));
    return *this;
  }
  // The thread of the last node had no processor, since so long after its start.
  TestStep& NoProcessor(int64_t since, int64_t time, bool is_preempted) {
    std::string numbers;
    AppendVarint(numbers, static_cast<uint64_t>(since) * 1000);
    AppendVarint(numbers, static_cast<uint64_t>(time) * 2000 + (is_preempted ? 1 : 0));
    return NoProcessorBytes(numbers);
  }
  TestStep& NoProcessorBytes(const std::string& numbers) {
    std::string field;
    AddWireText(kNodeSwitchesField, numbers, &field);
    EXPECT_TRUE(MergeFromBytes(*last_, field).ok());
    return *this;
  }
  // What a bounded recording of a device says of what it has not kept: until then, of a step that
  // began at 0; microseconds.
  TestStep& LeftOut(const std::string& device, int64_t until,
                    const std::vector<std::pair<std::string, int64_t>>& nodes) {
    std::string fields, all;
    int64_t executions = 0;
    for (const auto& [name, count] : nodes) {
      std::string node;
      AddWireText(left_out_fields::kNodeName, name, &node);
      AddWireInt(left_out_fields::kNodeExecutions, count, &node);
      AddWireText(left_out_fields::kNode, node, &fields);
      executions += count;
    }
    AddWireInt(left_out_fields::kExecutions, executions, &fields);
    AddWireInt(left_out_fields::kUntilNanos, (kBegin + until) * 1000, &fields);
    AddWireInt(left_out_fields::kStepBeginNanos, kBegin * 1000, &fields);
    AddWireText(kLeftOutField, fields, &all);
    EXPECT_TRUE(MergeFromBytes(*Device(device), all).ok());
    return *this;
  }
  // What a task notes of a value of `producer` that it received.
  TestStep& Received(const std::string& from, const std::string& to, const std::string& producer,
                     int64_t start, int64_t end, int64_t bytes = 8) {
    return Node(to, "RecvTensor",
                "[" + std::to_string(bytes) + "B] [1Mb/s] edge_3_" + producer + " from " + from +
                    " to " + to,
                start, end);
  }
  // A node of the partition graph of a device.
  Message* GraphNode(int partition, const std::string& name, const std::string& op,
                     std::initializer_list<std::string> inputs) {
    while (static_cast<int>(graphs_.size()) <= partition) {
      graphs_.push_back(metadata_->Add(pb::RunMetadata::kPartitionGraphs));
    }
    Message* node = graphs_[partition]->Add(pb::GraphDef::kNode);
    node->SetString(pb::NodeDef::kName, name);
    node->SetString(pb::NodeDef::kOp, op);
    for (const std::string& input : inputs) node->AddString(pb::NodeDef::kInput, input);
    return node;
  }
  void Key(Message* node, const std::string& edge, const std::string& from, const std::string& to) {
    const auto set = [&](const char* name, const std::string& text) {
      node->MapMutable(pb::NodeDef::kAttr, name)->SetString(pb::AttrValue::kS, text);
    };
    set("tensor_name", edge);
    set("send_device", from);
    set("recv_device", to);
  }
  std::string Bytes() const { return Serialize(*metadata_).value(); }
  std::unique_ptr<Trace> Finished() const {
    auto trace = std::make_unique<Trace>();
    EXPECT_TRUE(StepStatsReader(trace.get()).Add("step.pb", Bytes()).ok());
    EXPECT_TRUE(FinishTrace(trace.get()).ok());
    return trace;
  }

 private:
  Message* Device(const std::string& name) {
    Message* stats = metadata_->Mutable(pb::RunMetadata::kStepStats);
    Message* device = stats->Add(pb::StepStats::kDevStats);
    device->SetString(pb::DeviceStepStats::kDevice, name);
    return device;
  }

  OwnedMessage metadata_{pb::RunMetadata::Descriptor()};
  Message* last_ = nullptr;  // node
  std::vector<Message*> graphs_;
};

// The first span of a node.
inline const TraceSpan& SpanOf(const Trace& trace, const std::string& name) {
  for (const TraceSpan& span : trace.spans) {
    if (trace.NameOf(span) == name) return span;
  }
  ADD_FAILURE() << "no node " << name;
  return trace.spans.front();
}

}  // namespace thalweg
