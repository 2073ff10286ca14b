// SPDX-License-Identifier: Apache-2.0
// StepStatsReader: reads RunMetadata messages of any session, ours and TensorFlow's, into a Trace.
//
//   Trace trace;
//   StepStatsReader reader(&trace);
//   RETURN_IF_ERROR(reader.Add("step.pb", bytes));
//   RETURN_IF_ERROR(FinishTrace(&trace));  // trace_reader.h
//
// A StepStats message will do as well. Of bytes that end too early, what comes before the end is
// read, and noted. Each call is a step of its own; times stay as they were written. Of a packed
// recording some megabytes at a time are unpacked.
// Ownership: the trace is the caller's and outlives the reader; nothing of the bytes is kept.
// Threads: one.
// Errors: InvalidArgument for what is no such message, or holds no times of nodes; of a packed one
// those of packed_recording.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/trace/packed_recording.h"
#include "thalweg/trace/trace.h"

namespace thalweg {

class StepStatsReader {
 public:
  // `with_memory`: fills Trace::memory as well.
  explicit StepStatsReader(Trace* trace, bool with_memory = false)
      : trace_(*trace), with_memory_(with_memory) {}
  // Is told, now and then, which part of the bytes has been read.
  using Passed = std::function<void(std::string_view)>;
  // `path` is for messages.
  Status Add(const std::string& path, std::string_view bytes, Passed passed = {});
  Status AddPacked(const std::string& path, const PackedRecording& recording);

 private:
  void Begin();
  Status ReadFields(const std::string& path, std::string_view bytes);
  Status Finish(const std::string& path, std::string_view bytes, uint64_t size);
  void MakeRoomFor(size_t nodes);
  void ReadStepStats(std::string_view bytes);
  void MakeRoom(std::string_view step_stats);
  void ReadDevice(std::string_view bytes);
  void ReadNode(uint32_t device, std::string_view bytes);
  void Pass(const char* until);
  void AddSwitches(std::string_view bytes, const TraceSpan& span);
  void AddLeftOut(uint32_t device, std::string_view bytes);
  void NoteMissingSwitches(std::string_view task, std::string_view why);
  void AddMemory(std::string_view bytes, const TraceSpan& span);
  void AddTransfer(std::string_view label, TraceSpan* span);
  void AddHostSend(std::string_view name, std::string_view label, TraceSpan span);

  Trace& trace_;
  const bool with_memory_;
  Passed passed_;
  const char* read_from_ = nullptr;  // what of the bytes has been told of as read ends here
  uint32_t step_ = 0;
  size_t first_ = 0;  // of the spans of this step
  size_t unreadable_ = 0, backward_ = 0;
  bool is_cut_ = false;
};

}  // namespace thalweg
