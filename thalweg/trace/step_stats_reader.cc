// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/step_stats_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "thalweg/base/str_cat.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/trace_fields.h"
#include "thalweg/proto/utf8.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/trace/partition_reader.h"

namespace thalweg {
namespace {

constexpr int64_t kLatest = int64_t{1} << 62;   // of a start, in nanoseconds since 1970: year 2116
constexpr int64_t kLongest = int64_t{1} << 53;  // of a node: 104 days
constexpr size_t kMostLeftOut = 100'000;        // each is a sentence
constexpr std::string_view kHostPrefix = "/host:";  // what a profiler of the process saw

int64_t OutputBytes(std::string_view output) {
  int64_t bytes = 0;
  WireField tensor, part, number;
  for (WireFields outputs(output); outputs.Next(&tensor);) {
    if (tensor.number != pb::NodeOutput::kTensorDescription || !IsText(tensor)) continue;
    for (WireFields tensors(tensor.bytes); tensors.Next(&part);) {
      if (part.number != pb::TensorDescription::kAllocationDescription || !IsText(part)) continue;
      for (WireFields numbers(part.bytes); numbers.Next(&number);) {
        if (number.number != pb::AllocationDescription::kRequestedBytes) continue;
        if (number.value < uint64_t{1} << 60) bytes = static_cast<int64_t>(number.value);
      }
    }
  }
  return bytes;
}

// The fields of a NodeExecStats that count here.
struct ExecStats {
  std::string_view name, label, switches;
  int64_t start_micros = 0, start_nanos = 0, end_micros = 0, end_nanos = 0;
  int64_t scheduled_micros = 0, scheduled_nanos = 0, bytes = 0;
  uint64_t thread = 0;
  bool tells_memory = false;

  int64_t start() const { return Of(start_nanos, start_micros); }
  int64_t scheduled() const { return Of(scheduled_nanos, scheduled_micros); }
  int64_t time() const { return Of(end_nanos, end_micros); }
  // Below 0 for what no clock shows.
  static int64_t Of(int64_t nanos, int64_t micros) {
    if (nanos != 0) return nanos;
    return micros < 0 || micros > kLatest / 1000 ? -1 : micros * 1000;
  }
};

ExecStats ReadExecStats(std::string_view bytes, bool* is_cut) {
  namespace Exec = pb::NodeExecStats;
  ExecStats stats;
  WireField field;
  WireFields fields(bytes);
  while (fields.Next(&field)) {
    const auto number = static_cast<int64_t>(field.value);
    if (IsText(field)) {
      if (field.number == Exec::kNodeName) stats.name = field.bytes;
      if (field.number == Exec::kTimelineLabel) stats.label = field.bytes;
      if (field.number == Exec::kOutput) stats.bytes += OutputBytes(field.bytes);
      if (field.number == kNodeSwitchesField) stats.switches = field.bytes;
      stats.tells_memory |= field.number == Exec::kOutput || field.number == Exec::kMemory ||
                            field.number == Exec::kReferencedTensor ||
                            field.number == Exec::kMemoryStats;
      continue;
    }
    if (field.type != WireType::kVarint) continue;
    switch (field.number) {
      case Exec::kAllStartMicros:
        stats.start_micros = number;
        break;
      case Exec::kAllStartNanos:
        stats.start_nanos = number;
        break;
      case Exec::kAllEndRelMicros:
        stats.end_micros = number;
        break;
      case Exec::kAllEndRelNanos:
        stats.end_nanos = number;
        break;
      case Exec::kScheduledMicros:
        stats.scheduled_micros = number;
        break;
      case Exec::kScheduledNanos:
        stats.scheduled_nanos = number;
        break;
      case Exec::kThreadId:
        stats.thread = field.value;
        break;
      default:
        break;
    }
  }
  *is_cut |= fields.is_cut();
  return stats;
}

// Of a DeviceStepStats; it comes before the nodes.
std::string_view DeviceNameIn(std::string_view bytes) {
  std::string_view name;
  WireField field;
  for (WireFields names(bytes); names.Next(&field);) {
    if (field.number == pb::DeviceStepStats::kDevice && IsText(field)) name = field.bytes;
    if (field.number == pb::DeviceStepStats::kNodeStats && !name.empty()) break;
  }
  return name;
}

// "[cpu 0.3MB 0.3MB] m1 = MatMul(m0/_1, m0/_1)": MatMul and its inputs.
struct NodeLabel {
  std::string_view op, inputs;
};
NodeLabel ReadLabel(std::string_view label) {
  const size_t is = label.find(" = ");
  if (is == std::string_view::npos) return {};
  label.remove_prefix(is + 3);
  const size_t open = label.find('(');
  if (open == std::string_view::npos) return {.op = label, .inputs = {}};
  const size_t close = label.rfind(')');
  return {.op = label.substr(0, open),
          .inputs = close == std::string_view::npos || close < open
                        ? std::string_view()
                        : label.substr(open + 1, close - open - 1)};
}

}  // namespace

void StepStatsReader::Begin() {
  step_ = static_cast<uint32_t>(trace_.files.size());
  first_ = trace_.spans.size();
  unreadable_ = backward_ = 0;
  is_cut_ = false;
}

Status StepStatsReader::Add(const std::string& path, std::string_view bytes, Passed passed) {
  Begin();
  passed_ = std::move(passed);
  read_from_ = bytes.data();
  if (bytes.empty())
    return InvalidArgument(path, ": expected a RunMetadata message, found no bytes");
  RETURN_IF_ERROR(ReadFields(path, bytes));
  return Finish(path, bytes, bytes.size());
}

Status StepStatsReader::ReadFields(const std::string& path, std::string_view bytes) {
  WireField field;
  WireFields fields(bytes);
  while (fields.Next(&field)) {
    if (field.number > 100 || (field.number <= 4 && !IsText(field))) {
      return InvalidArgument(path, ": expected a RunMetadata message, found a field ", field.number,
                             " that it does not have");
    }
    if (field.number == pb::RunMetadata::kStepStats) ReadStepStats(field.bytes);
  }
  is_cut_ |= fields.is_cut();
  return OkStatus();
}

// What is unpacked of a device is read piece by piece, each as a device of that name.
Status StepStatsReader::AddPacked(const std::string& path, const PackedRecording& recording) {
  using Part = PackedRecording::Part;
  constexpr size_t kPiece = size_t{1} << 20;
  constexpr uint64_t kLeastNode =
      16;  // a name, a start: few bytes may say that they are many nodes
  Begin();
  passed_ = {};
  MakeRoomFor(std::min(recording.nodes(), recording.size() / kLeastNode));
  std::string device, rest;
  size_t head = 0;  // of `device`: the name, from the second piece on
  bool has_nodes = false;
  const auto read = [&] {
    if (!device.empty()) ReadDevice(device);
    device.clear();
    head = 0;
    has_nodes = false;
  };
  const Status status = recording.Visit([&](Part part, std::string_view bytes) {
    if (part == Part::kRest) rest += bytes;
    if (part == Part::kRest || part == Part::kFrame || part == Part::kDevice) return read();
    // A name of megabytes is not told again for each node.
    if (has_nodes && device.size() - head > std::max(kPiece, head)) {
      const std::string name(DeviceNameIn(device));
      read();
      if (!name.empty()) AddWireText(pb::DeviceStepStats::kDevice, name, &device);
      head = device.size();
    }
    has_nodes |= part == Part::kNode;
    device += bytes;
  });
  RETURN_IF_ERROR(status.WithContext(path));
  read();
  RETURN_IF_ERROR(ReadFields(path, rest));
  return Finish(path, rest, recording.size());
}

Status StepStatsReader::Finish(const std::string& path, std::string_view bytes, uint64_t size) {
  if (trace_.spans.size() == first_) ReadStepStats(bytes);  // perhaps it is one itself
  if (trace_.spans.size() == first_ && !trace_.left_out.empty() &&
      trace_.left_out.back().step == step_) {
    return InvalidArgument(path, ": expected times of nodes, found none but that the first ",
                           CountWords(trace_.left_out.back().executions),
                           " executions of a device are not there: less than one was to be kept "
                           "(trace_bytes of a session)");
  }
  if (trace_.spans.size() == first_) {
    return InvalidArgument(
        path, ": expected a RunMetadata message with step_stats, found no times ", "of nodes in ",
        size, " bytes (RunOptions.trace_level=FULL_TRACE records them)");
  }
  ReadPartitions(bytes, &trace_);
  if (is_cut_)
    trace_.notes.push_back(path + " is cut off or damaged; what could be read is shown.");
  if (unreadable_ > 0) {
    trace_.notes.push_back(path + ": " + std::to_string(unreadable_) +
                           " entries without a readable name or start are left out.");
  }
  if (backward_ > 0) {
    trace_.notes.push_back(path + ": " + std::to_string(backward_) +
                           " nodes end before they start or take months (a clock jumped); they are "
                           "shown where they start.");
  }
  trace_.files.push_back(path);
  return OkStatus();
}

// The bytes up to there have been read.
void StepStatsReader::Pass(const char* until) {
  constexpr ptrdiff_t kLeast = ptrdiff_t{16} << 20;
  if (!passed_ || until - read_from_ < kLeast) return;
  passed_({read_from_, static_cast<size_t>(until - read_from_)});
  read_from_ = until;
}

// So that millions of spans are not copied while they are read.
void StepStatsReader::MakeRoom(std::string_view step_stats) {
  size_t nodes = 0;
  WireField device, node;
  for (WireFields devices(step_stats); devices.Next(&device);) {
    if (device.number != pb::StepStats::kDevStats || !IsText(device)) continue;
    for (WireFields all(device.bytes); all.Next(&node);) {
      nodes += node.number == pb::DeviceStepStats::kNodeStats ? 1 : 0;
      if (IsText(node)) Pass(node.bytes.data());
    }
  }
  read_from_ = step_stats.data();
  MakeRoomFor(nodes);
}

void StepStatsReader::MakeRoomFor(size_t nodes) {
  const size_t wanted = trace_.spans.size() + nodes;
  if (wanted > trace_.spans.capacity() && wanted > 2 * trace_.spans.size()) {
    trace_.spans.reserve(wanted);
    AskForLargePages(trace_.spans.data(), wanted * sizeof(TraceSpan));
  }
}

void StepStatsReader::ReadStepStats(std::string_view bytes) {
  MakeRoom(bytes);
  WireField field;
  WireFields fields(bytes);
  while (fields.Next(&field)) {
    if (field.number == pb::StepStats::kDevStats && IsText(field)) ReadDevice(field.bytes);
  }
  is_cut_ |= fields.is_cut();
}

void StepStatsReader::ReadDevice(std::string_view bytes) {
  const std::string_view name = DeviceNameIn(bytes);
  if (!IsUtf8(name)) {
    ++unreadable_;
    return;
  }
  const bool is_host = name.starts_with(kHostPrefix);
  const uint32_t device =
      is_host ? UINT32_MAX : trace_.AddDevice(name.empty() ? "(no name)" : name);
  WireField field;
  WireFields fields(bytes);
  while (fields.Next(&field)) {
    if (!IsText(field)) continue;
    Pass(field.bytes.data());
    if (field.number == pb::DeviceStepStats::kNodeStats) ReadNode(device, field.bytes);
    if (field.number == kSwitchesMissingField && IsUtf8(field.bytes)) {
      NoteMissingSwitches(TaskOfDevice(name), field.bytes);
    }
    if (field.number == kLeftOutField && !is_host) AddLeftOut(device, field.bytes);
  }
  is_cut_ |= fields.is_cut();
}

void StepStatsReader::ReadNode(uint32_t device, std::string_view bytes) {
  const ExecStats stats = ReadExecStats(bytes, &is_cut_);
  const int64_t start = stats.start();
  if (stats.name.empty() || !IsUtf8(stats.name) || !IsUtf8(stats.label) || start <= 0 ||
      start > kLatest) {
    ++unreadable_;
    return;
  }
  TraceSpan span;
  span.start = start;
  const bool is_sane = stats.time() >= 0 && stats.time() <= kLongest;
  span.end = start + (is_sane ? stats.time() : 0);
  const int64_t scheduled = stats.scheduled();
  span.scheduled =
      scheduled > 0 && scheduled < start && start - scheduled < kLongest ? scheduled : start;
  span.bytes = stats.bytes;
  span.step = step_;
  if (device == UINT32_MAX) {
    AddHostSend(stats.name, stats.label, span);
    return;
  }
  backward_ += is_sane ? 0 : 1;
  span.device = device;
  auto& threads = trace_.devices[device].threads;
  span.thread = threads.try_emplace(stats.thread, threads.size()).first->second;
  if (stats.name == "RecvTensor") {
    span.kind = SpanKind::kTransfer;
    span.name = span.op = trace_.texts.Add(stats.name);
    AddTransfer(stats.label, &span);
    trace_.spans.push_back(span);
    return;
  }
  const NodeLabel label = ReadLabel(stats.label);
  // A device of streams writes "NODE:OP" and no label.
  const size_t colon = label.op.empty() ? stats.name.find(':') : std::string_view::npos;
  span.name = trace_.texts.Add(stats.name.substr(0, colon));
  span.op =
      trace_.texts.Add(colon == std::string_view::npos ? label.op : stats.name.substr(colon + 1));
  span.kind = SpanKindOf(trace_.texts[span.op]);
  if (!label.inputs.empty()) {
    const auto [entry, is_new] = trace_.facts.try_emplace(Trace::NodeKey(device, span.name));
    if (is_new) {
      NodeFacts& facts = entry->second;
      facts.op = span.op;
      facts.from_label = true;
      for (std::string_view rest = label.inputs; !rest.empty();) {
        const size_t comma = rest.find(", ");
        facts.inputs.push_back(trace_.texts.Add(NodeOfEdge(rest.substr(0, comma))));
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
      }
    }
  }
  trace_.spans.push_back(span);
  AddSwitches(stats.switches, span);
  if (with_memory_ && stats.tells_memory) AddMemory(bytes, span);
}

// What reaches beyond the node was not written by us.
void StepStatsReader::AddSwitches(std::string_view bytes, const TraceSpan& span) {
  WireReader numbers(bytes);
  int64_t at = span.start;
  uint64_t since = 0, nanos = 0;
  while (!numbers.AtEnd() && numbers.ReadVarint(&since) && numbers.ReadVarint(&nanos)) {
    const auto left = static_cast<uint64_t>(span.end - at);
    if (since > left || nanos / 2 > left - since) return;
    const int64_t begin = at + static_cast<int64_t>(since);
    at = begin + static_cast<int64_t>(nanos / 2);
    trace_.switches.push_back({.begin = begin,
                               .end = at,
                               .span = static_cast<uint32_t>(trace_.spans.size() - 1),
                               .device = span.device,
                               .step = span.step,
                               .is_preempted = (nanos & 1) != 0});
  }
}

// Numbers that no recording writes are none of ours.
void StepStatsReader::AddLeftOut(uint32_t device, std::string_view bytes) {
  constexpr int64_t kMost = int64_t{1} << 60;
  TraceLeftOut left{.device = device, .step = step_};
  WireField field, part;
  for (WireFields fields(bytes); fields.Next(&field);) {
    const auto number = static_cast<int64_t>(field.value);
    if (field.number == left_out_fields::kExecutions) left.executions = number;
    if (field.number == left_out_fields::kTransfers) left.transfers = number;
    if (field.number == left_out_fields::kUntilNanos) left.until = number;
    if (field.number == left_out_fields::kStepBeginNanos) left.begin = number;
    if (field.number != left_out_fields::kNode || !IsText(field)) continue;
    std::pair<uint32_t, int64_t> node;
    for (WireFields parts(field.bytes); parts.Next(&part);) {
      if (part.number == left_out_fields::kNodeName && IsText(part) && IsUtf8(part.bytes)) {
        node.first = trace_.texts.Add(part.bytes);
      }
      if (part.number == left_out_fields::kNodeExecutions) {
        node.second = static_cast<int64_t>(part.value);
      }
    }
    if (node.first != 0 && node.second > 0) left.nodes.push_back(node);
  }
  const auto is_count = [&](int64_t count) { return count >= 0 && count < kMost; };
  if (!is_count(left.executions) || !is_count(left.transfers) || left.until <= 0 ||
      left.until > kLatest || left.executions + left.transfers == 0 ||
      trace_.left_out.size() == kMostLeftOut) {
    ++unreadable_;
    return;
  }
  if (left.begin <= 0 || left.until - left.begin > kLongest) left.begin = left.until;
  left.begin = std::min(left.begin, left.until);
  std::stable_sort(left.nodes.begin(), left.nodes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  trace_.left_out.push_back(std::move(left));
}

void StepStatsReader::NoteMissingSwitches(std::string_view task, std::string_view why) {
  std::string note = StrCat(task.empty() ? "this process" : task,
                            ": when threads had no processor is not known: ", why, ".");
  if (std::find(trace_.notes.begin(), trace_.notes.end(), note) == trace_.notes.end()) {
    trace_.notes.push_back(std::move(note));
  }
}

void StepStatsReader::AddMemory(std::string_view bytes, const TraceSpan& span) {
  ExecutionMemory memory;
  if (!ReadExecutionMemory(bytes, &memory)) return;
  memory.device = span.device;
  memory.name = span.name;
  memory.op = span.op;
  memory.start = span.start;
  memory.end = span.end;
  trace_.memory.Add(memory);
}

// "[8B] [0.08Mb/s] edge_9_c from DEVICE to DEVICE".
void StepStatsReader::AddTransfer(std::string_view label, TraceSpan* span) {
  constexpr std::string_view kFrom = " from /", kTo = " to /";
  const size_t rate = label.find("] [");
  const size_t name = rate == std::string_view::npos ? rate : label.find("] ", rate + 3);
  if (name == std::string_view::npos) return;
  const size_t to = label.rfind(kTo);
  if (to == std::string_view::npos) return;
  const size_t from = label.substr(0, to).rfind(kFrom);
  if (from == std::string_view::npos || from < name + 2) return;
  span->edge = trace_.texts.Add(label.substr(name + 2, from - name - 2));
  span->from_device =
      trace_.AddDevice(label.substr(from + kFrom.size() - 1, to - from - kFrom.size() + 1));
  if (span->bytes == 0) {
    const size_t end = label.find("B]");
    if (end == std::string_view::npos) return;
    int64_t bytes = 0;
    const auto [rest, error] =
        std::from_chars(label.data() + std::min<size_t>(1, end), label.data() + end, bytes);
    if (error == std::errc() && rest == label.data() + end) span->bytes = bytes;
  }
}

// TensorFlow 1.15 notes Send nodes among the activities of the process alone: "v_S0:_Send",
// "id=1,device=/job:ps/replica:0/task:0/device:CPU:0,async=false". Others are nodes again.
void StepStatsReader::AddHostSend(std::string_view name, std::string_view label, TraceSpan span) {
  constexpr std::string_view kDevice = "device=", kSend = ":_Send";
  if (!name.ends_with(kSend)) return;
  const size_t at = label.find(kDevice);
  if (at == std::string_view::npos) return;
  label.remove_prefix(at + kDevice.size());
  span.device = trace_.AddDevice(label.substr(0, label.find(',')));
  span.name = trace_.texts.Add(name.substr(0, name.size() - kSend.size()));
  span.op = trace_.texts.Add(kSend.substr(1));
  span.kind = SpanKind::kSend;
  trace_.spans.push_back(span);
}

}  // namespace thalweg
