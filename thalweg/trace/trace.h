// SPDX-License-Identifier: Apache-2.0
// Trace: what tasks did in one step or several: which node ran when and where, what went from
// device to device.
//
//   Trace trace;
//   const uint32_t device = trace.AddDevice("/job:worker/replica:0/task:0/device:CPU:0");
//   TraceSpan& span = trace.spans.emplace_back();
//   span.end = 10;
//   span.name = trace.texts.Add("x");
//   span.device = device;
//   RETURN_IF_ERROR(FinishTrace(&trace));  // trace_reader.h
//
// Times are nanoseconds since `begin_nanos`, on the clock of the first task once it is finished.
// Ownership: owns everything. Numbers of texts, devices and spans are indices.
// Threads: one fills it; then reading from any.
// Errors: none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/trace/execution_memories.h"

namespace thalweg {

// What operations do beside computing; one may do several.
enum OpRole : uint8_t {
  kTakesInput = 1,  // from a queue, an iterator, a staging area
  kDequeues = 2,    // of these, from a queue
  kEnqueues = 4,
};

// Texts with a number each: most of a trace is the same names again.
class TraceTexts {
 public:
  TraceTexts() { Add(""); }
  TraceTexts(const TraceTexts&) = delete;
  TraceTexts& operator=(const TraceTexts&) = delete;
  uint32_t Add(std::string_view text);
  // The number of a text that is there, or 0, that of "".
  uint32_t Find(std::string_view text) const;
  const std::string& operator[](uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }
  // Of an operation of that name: they are asked for span by span.
  uint8_t OpRoles(uint32_t number) const { return op_roles_[number]; }

 private:
  std::deque<std::string> texts_;
  std::vector<uint8_t> op_roles_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

enum class SpanKind : uint8_t {
  kNode,
  kSend,      // a Send node: a value is given away
  kReceive,   // a Recv node: from when it asks until the value is there
  kTransfer,  // what a task notes of a value that it asked another for ("RecvTensor")
};

// There are millions: one is as long as a line of the processor's cache.
struct TraceSpan {
  int64_t scheduled = 0;  // at most `start`
  int64_t start = 0;
  int64_t end = 0;
  int64_t bytes = 0;  // of its outputs, or of what was transferred; 0: not known
  uint32_t name = 0, op = 0;
  uint32_t edge = 0;         // of a transfer: the key's name
  uint32_t from_device = 0;  // of a transfer
  uint32_t device = 0;
  uint32_t thread = 0;  // in TraceDevice::threads
  uint32_t lane = 0;    // in the device; spans of a lane do not overlap
  uint32_t step : 30 = 0;
  SpanKind kind : 2 = SpanKind::kNode;
};
static_assert(sizeof(TraceSpan) == 64);

// When a thread had no processor while it ran a node.
struct TraceSwitch {
  int64_t begin = 0, end = 0;
  uint32_t span = 0;  // of the node
  uint32_t device = 0, step = 0;
  bool is_preempted = false;  // it could have gone on; else it waited for something
};

// What a recording that keeps only the newest does not have of a step: its beginning.
struct TraceLeftOut {
  uint32_t device = 0, step = 0;
  int64_t executions = 0;                           // of nodes
  int64_t transfers = 0;                            // or of these, which are noted beside the nodes
  int64_t begin = 0;                                // of the step
  int64_t until = 0;                                // what ended later is there
  std::vector<std::pair<uint32_t, int64_t>> nodes;  // name and executions, most first
};

// A value that went from one device to another.
struct TraceTransfer {
  int64_t sender = -1;    // the span of the Send, or of the node whose value it is; -1: not known
  int64_t receiver = -1;  // the span of the Recv, or of the transfer
  int64_t sent = -1;      // when the sender had it; -1: not known
  int64_t asked = 0;      // since when the receiver waits
  int64_t arrived = 0;
  int64_t bytes = 0;
  uint32_t edge = 0, producer = 0;  // texts
  uint32_t from = 0, to = 0;        // devices
  uint32_t step = 0;
};

struct TraceDevice {
  std::string name;
  uint32_t task = 0;
  uint32_t lanes = 0;          // of nodes and Sends
  uint32_t receive_lanes = 0;  // after those: of what waits for values of others
  std::unordered_map<uint64_t, uint32_t> threads;
};

struct TraceTask {
  std::string name;          // "/job:worker/replica:0/task:0"; "": the only process
  int64_t offset_nanos = 0;  // was added to its times
  int64_t error_nanos =
      0;  // its clock may be off by so much, as far as messages tell; -1: not known
};

// When a node ran last in a step.
struct TraceLastRun {
  uint32_t device = 0, name = 0;
  int64_t end = 0;
};

struct TraceStep {
  size_t first = 0, last = 0;  // spans [first, last)
  int64_t begin = 0, end = 0;
  int64_t recorded_begin = 0, recorded_end = 0;  // before a filter took spans away
  std::vector<TraceLastRun>
      taken;  // nodes that a filter took away: values lived until they were read
};

// What a partition graph, or a label, tells of a node.
struct NodeFacts {
  uint32_t op = 0;
  std::vector<uint32_t> inputs;         // names; those of control inputs come last
  uint32_t controls = 0;                // how many these are
  uint32_t edge = 0, from = 0, to = 0;  // of Send and Recv: the rendezvous key
  bool from_label = false;
  uint32_t site = 0;           // a text: where the user made it
  int64_t constant_bytes = 0;  // of a constant
};

struct Trace {
  std::vector<std::string> files;
  int64_t begin_nanos = 0;  // since 1970
  TraceTexts texts;
  std::vector<TraceTask> tasks;
  std::vector<TraceDevice> devices;
  std::vector<TraceStep> steps;
  std::vector<TraceSpan> spans;  // by step, then by start
  std::vector<TraceTransfer> transfers;
  std::vector<TraceSwitch> switches;  // by step, then by begin
  std::vector<TraceLeftOut> left_out;
  ExecutionMemories memory;  // where ReadTrace was to read it; times are as they were written
  std::unordered_map<uint64_t, NodeFacts> facts;  // by NodeKey
  std::vector<std::string> notes;                 // what a reader of the trace must know
  // Where devices and tasks of a name are, of those that AddDevice has put there.
  std::unordered_map<std::string, uint32_t> device_numbers, task_numbers;

  // Its number, as of one that is there.
  uint32_t AddDevice(std::string_view name);
  static uint64_t NodeKey(uint32_t device, uint32_t name) { return uint64_t{device} << 32 | name; }
  const NodeFacts* FactsOf(uint32_t device, uint32_t name) const;
  const std::string& NameOf(const TraceSpan& span) const { return texts[span.name]; }
  const std::string& OpOf(const TraceSpan& span) const { return texts[span.op]; }
  // Whether its operation waits for others to fill or empty something, and computes nothing
  // meanwhile.
  bool IsWaitingOp(const TraceSpan& span) const {
    return (texts.OpRoles(span.op) & (kTakesInput | kEnqueues)) != 0;
  }
  const std::string& TaskOf(uint32_t device) const { return tasks[devices[device].task].name; }
};

// Before memory of that size is first written, for what is then looked at out of order: with small
// pages each look may be a miss of the processor's table of pages as well.
void AskForLargePages(void* begin, size_t bytes);
// "5.1 ms", as people read it.
std::string DurationWords(int64_t nanos);
// "12,345,678".
std::string CountWords(int64_t count);
// "160 kB".
std::string BytesWords(int64_t bytes);
// Of the name of a device, "/job:worker/replica:0/task:0"; "" where it has none.
std::string_view TaskOfDevice(std::string_view device);

}  // namespace thalweg
