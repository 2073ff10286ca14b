// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/perfetto_trace.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "thalweg/proto/wire_fields.h"
#include "thalweg/trace/lanes.h"
#include "thalweg/trace/memory_curve.h"
#include "thalweg/trace/percent.h"
#include "thalweg/trace/told_part.h"

namespace thalweg {
namespace {

// Numbers of fields, as perfetto_trace.proto has them.
namespace packet {
constexpr uint32_t kInTrace = 1, kClockSnapshot = 6, kTimestamp = 8, kSequence = 10,
                   kTrackEvent = 11, kInterned = 12, kFlags = 13, kClock = 58, kDefaults = 59,
                   kTrackDescriptor = 60, kIsFirst = 87;
constexpr uint64_t kCleared = 1, kNeedsState = 2;  // of kFlags
}  // namespace packet
namespace event {
constexpr uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kNameText = 23,
                   kCounterValue = 30, kFlow = 47, kEndOfFlow = 48;
constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;  // of kType
}  // namespace event
namespace annotation {
constexpr uint32_t kName = 1, kNumber = 4, kText = 17;
}  // namespace annotation
namespace descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
}  // namespace descriptor
namespace interned {
constexpr uint32_t kCategories = 1, kNames = 2, kAnnotationNames = 3, kTexts = 29;
}  // namespace interned

constexpr uint64_t kBootTime = 6, kRealTime = 1;  // clocks of Perfetto's
constexpr uint64_t kDifferences = 64;             // of a sequence: each time from the one before
constexpr uint64_t kNode = 1, kTransfer = 2;      // categories
constexpr uint64_t kNodeName = 1, kStep = 2, kBytes = 3, kEdge = 4, kWaited = 5;  // annotations
constexpr uint64_t kOfDispatch = uint64_t{1} << 63;  // flows to starts of spans; others: transfers
constexpr int64_t kMostShares = 4096;
constexpr size_t kMostPoints = size_t{1} << 18;

void AddFixed(uint32_t field, uint64_t value, std::string* out) {
  AppendTag(*out, field, WireType::kFixed64);
  AppendFixed64(*out, value);
}

std::string NumberedName(uint64_t number, std::string_view name) {
  std::string bytes;
  AddWireNumber(1, number, &bytes);
  AddWireText(2, name, &bytes);
  return bytes;
}

std::string ClockBytes(uint64_t clock, int64_t time) {
  std::string bytes;
  PutWireNumber(1, clock, &bytes);
  PutWireNumber(2, static_cast<uint64_t>(time), &bytes);
  if (clock == kDifferences) PutWireNumber(3, 1, &bytes);
  return bytes;
}

// Texts with a number each in one sequence after the other.
class InternedTexts {
 public:
  explicit InternedTexts(size_t texts) : known_(texts) {}
  void Begin(uint32_t sequence) {
    sequence_ = sequence;
    last_ = 0;
  }
  // Its number; what a reader must be told of it first goes to `told`.
  uint64_t Number(uint32_t text, std::string_view words, uint32_t field, std::string* told) {
    Known& known = known_[text];
    if (known.sequence != sequence_) {
      known = {sequence_, ++last_};
      AddWireText(field, NumberedName(last_, words), told);
    }
    return known.number;
  }

 private:
  struct Known {
    uint32_t sequence = 0, number = 0;
  };
  std::vector<Known> known_;
  uint32_t sequence_ = 0, last_ = 0;
};

// Flows that begin or end with a span.
class SpanFlows {
 public:
  void Add(int64_t span, uint64_t flow) { flows_.emplace_back(span, flow); }
  void Finish() { std::sort(flows_.begin(), flows_.end()); }
  template <class F>
  void Visit(int64_t span, F&& visit) const {
    for (auto at = std::lower_bound(flows_.begin(), flows_.end(), std::pair(span, uint64_t{0}));
         at != flows_.end() && at->first == span; ++at) {
      visit(at->second);
    }
  }

 private:
  std::vector<std::pair<int64_t, uint64_t>> flows_;
};

class PerfettoWriter {
 public:
  explicit PerfettoWriter(const Trace& trace)
      : trace_(trace), names_(trace.texts.size()), nodes_(trace.texts.size()) {
    int64_t first = 0;
    for (const TraceSpan& span : trace.spans) first = std::min(first, span.scheduled);
    begin_ = std::max<int64_t>(trace.begin_nanos + first, 0);
    for (size_t i = 0; i < trace.transfers.size(); ++i) {
      const TraceTransfer& transfer = trace.transfers[i];
      if (transfer.sender < 0 || transfer.receiver < 0) continue;
      sent_.Add(transfer.sender, i + 1);
      received_.Add(transfer.receiver, i + 1);
    }
    sent_.Finish();
    received_.Finish();
  }

  std::string Write() {
    out_.reserve(trace_.spans.size() * 48 + 10'000);
    AddClocks();
    for (uint32_t device = 0; device < trace_.devices.size(); ++device) AddDevice(device);
    AddLanes();
    AddDispatches();
    AddLeftOut();
    AddShares();
    AddMemory();
    return std::move(out_);
  }

 private:
  static uint64_t UuidOfDevice(uint32_t device) { return device + uint64_t{1}; }

  void AddPacket(std::string_view bytes) { AddWireText(packet::kInTrace, bytes, &out_); }

  // What Perfetto takes for the time of the trace is the wall's.
  void AddClocks() {
    std::string clocks, bytes;
    AddWireText(1, ClockBytes(kBootTime, begin_), &clocks);
    AddWireText(1, ClockBytes(kRealTime, begin_), &clocks);
    PutWireNumber(packet::kTimestamp, static_cast<uint64_t>(begin_), &bytes);
    AddWireText(packet::kClockSnapshot, clocks, &bytes);
    PutWireNumber(packet::kSequence, ++sequence_, &bytes);
    AddPacket(bytes);
  }

  void AddDevice(uint32_t device) {
    std::string process, track, bytes;
    PutWireNumber(1, UuidOfDevice(device), &process);
    AddWireText(6, trace_.devices[device].name, &process);
    PutWireNumber(descriptor::kUuid, UuidOfDevice(device), &track);
    AddWireText(descriptor::kProcess, process, &track);
    AddWireText(packet::kTrackDescriptor, track, &bytes);
    PutWireNumber(packet::kSequence, sequence_, &bytes);
    AddPacket(bytes);
  }

  // A row of spans.
  void BeginLane(uint32_t device, uint32_t lane, std::string_view name) {
    std::string thread;
    PutWireNumber(1, UuidOfDevice(device), &thread);
    PutWireNumber(2, lane + uint64_t{1}, &thread);
    AddWireText(5, name, &thread);
    BeginTrack(device, {}, descriptor::kThread, thread);
  }
  void BeginCounter(uint32_t device, std::string_view name, bool is_bytes) {
    std::string counter;
    if (is_bytes) PutWireNumber(3, 3, &counter);
    if (!is_bytes) AddWireText(6, "%", &counter);
    BeginTrack(device, name, descriptor::kCounter, counter);
  }
  // What follows is on a track of its own, a sequence of packets: so none has to name it.
  void BeginTrack(uint32_t device, std::string_view name, uint32_t kind, std::string_view what) {
    const uint64_t uuid = trace_.devices.size() + ++sequence_;
    names_.Begin(sequence_);
    nodes_.Begin(sequence_);
    last_ = begin_;
    std::string track, clocks, event_defaults, defaults, words, bytes;
    PutWireNumber(descriptor::kUuid, uuid, &track);
    if (!name.empty()) AddWireText(descriptor::kName, name, &track);
    PutWireNumber(descriptor::kParent, UuidOfDevice(device), &track);
    AddWireText(kind, what, &track);
    AddWireText(1, ClockBytes(kBootTime, begin_), &clocks);
    AddWireText(1, ClockBytes(kDifferences, begin_), &clocks);
    PutWireNumber(11, uuid, &event_defaults);
    PutWireNumber(packet::kClock, kDifferences, &defaults);
    AddWireText(11, event_defaults, &defaults);
    if (kind == descriptor::kThread) AddWords(&words);
    PutWireNumber(packet::kTimestamp, static_cast<uint64_t>(begin_), &bytes);
    PutWireNumber(packet::kClock, kBootTime, &bytes);
    PutWireNumber(packet::kSequence, sequence_, &bytes);
    PutWireNumber(packet::kFlags, packet::kCleared, &bytes);
    PutWireNumber(packet::kIsFirst, 1, &bytes);
    AddWireText(packet::kClockSnapshot, clocks, &bytes);
    AddWireText(packet::kDefaults, defaults, &bytes);
    if (!words.empty()) AddWireText(packet::kInterned, words, &bytes);
    AddPacket(bytes);
    bytes.clear();
    AddWireText(packet::kTrackDescriptor, track, &bytes);
    PutWireNumber(packet::kSequence, sequence_, &bytes);
    AddPacket(bytes);
  }
  static void AddWords(std::string* words) {
    AddWireText(interned::kCategories, NumberedName(kNode, "node"), words);
    AddWireText(interned::kCategories, NumberedName(kTransfer, "transfer"), words);
    for (const auto& [number, name] :
         {std::pair(kNodeName, "node"), std::pair(kStep, "step"), std::pair(kBytes, "bytes"),
          std::pair(kEdge, "edge"), std::pair(kWaited, "waited_ns")}) {
      AddWireText(interned::kAnnotationNames, NumberedName(number, name), words);
    }
  }

  // `at`: since the trace's begin. Takes `event_` and what `told_` has of names in it.
  void AddEvent(int64_t at) {
    const int64_t now = std::max(trace_.begin_nanos + at, last_);
    bytes_.clear();
    PutWireNumber(packet::kTimestamp, static_cast<uint64_t>(now - last_), &bytes_);
    last_ = now;
    PutWireNumber(packet::kSequence, sequence_, &bytes_);
    PutWireNumber(packet::kFlags, packet::kNeedsState, &bytes_);
    if (!told_.empty()) AddWireText(packet::kInterned, told_, &bytes_);
    AddWireText(packet::kTrackEvent, event_, &bytes_);
    AddPacket(bytes_);
    told_.clear();
    event_.clear();
  }

  void Annotate(uint64_t name, uint32_t field, uint64_t value) {
    annotation_.clear();
    PutWireNumber(annotation::kName, name, &annotation_);
    PutWireNumber(field, value, &annotation_);
    AddWireText(event::kAnnotation, annotation_, &event_);
  }
  uint64_t TextNumber(uint32_t text) {
    return nodes_.Number(text, trace_.texts[text], interned::kTexts, &told_);
  }
  // Its type, category, name and node.
  void Name(uint64_t type, const TraceSpan& span) {
    const uint32_t name = span.op == 0 ? span.name : span.op;
    PutWireNumber(event::kType, type, &event_);
    PutWireNumber(event::kCategory, span.kind == SpanKind::kNode ? kNode : kTransfer, &event_);
    PutWireNumber(event::kName, names_.Number(name, trace_.texts[name], interned::kNames, &told_),
                  &event_);
    Annotate(kNodeName, annotation::kText, TextNumber(span.name));
  }

  void AddSpan(uint32_t number) {
    const TraceSpan& span = trace_.spans[number];
    Name(event::kBegin, span);
    if (trace_.steps.size() > 1) Annotate(kStep, annotation::kNumber, span.step);
    if (span.bytes != 0) Annotate(kBytes, annotation::kNumber, static_cast<uint64_t>(span.bytes));
    if (span.edge != 0) Annotate(kEdge, annotation::kText, TextNumber(span.edge));
    if (span.scheduled < span.start) {
      Annotate(kWaited, annotation::kNumber, static_cast<uint64_t>(span.start - span.scheduled));
      AddFixed(event::kEndOfFlow, kOfDispatch | number, &event_);
    }
    sent_.Visit(number, [&](uint64_t flow) { AddFixed(event::kFlow, flow, &event_); });
    AddEvent(span.start);
    // A Recv may have begun before the Send; a flow goes forward, so it ends with the value.
    received_.Visit(number, [&](uint64_t flow) {
      Name(event::kInstant, span);
      AddFixed(event::kEndOfFlow, flow, &event_);
      AddEvent(span.end);
    });
    PutWireNumber(event::kType, event::kEnd, &event_);
    AddEvent(span.end);
  }

  void AddLanes() {
    const TraceSpan* last = nullptr;
    for (const uint32_t number : SpansByLane(trace_)) {
      const TraceSpan& span = trace_.spans[number];
      if (last == nullptr || last->device != span.device || last->lane != span.lane) {
        const bool receives = span.lane >= trace_.devices[span.device].lanes;
        BeginLane(span.device, span.lane,
                  (receives ? "receives " : "lane ") + std::to_string(span.lane));
      }
      last = &span;
      AddSpan(number);
    }
  }

  // When nodes were scheduled that started later: where their flows begin.
  void AddDispatches() {
    std::vector<std::vector<uint32_t>> waited(trace_.devices.size());
    for (size_t i = 0; i < trace_.spans.size(); ++i) {
      const TraceSpan& span = trace_.spans[i];
      if (span.scheduled < span.start) waited[span.device].push_back(static_cast<uint32_t>(i));
    }
    for (uint32_t device = 0; device < waited.size(); ++device) {
      if (waited[device].empty()) continue;
      std::stable_sort(waited[device].begin(), waited[device].end(), [&](uint32_t a, uint32_t b) {
        return trace_.spans[a].scheduled < trace_.spans[b].scheduled;
      });
      const TraceDevice& of = trace_.devices[device];
      BeginLane(device, of.lanes + of.receive_lanes, "scheduled");
      for (const uint32_t number : waited[device]) {
        Name(event::kInstant, trace_.spans[number]);
        AddFixed(event::kFlow, kOfDispatch | number, &event_);
        AddEvent(trace_.spans[number].scheduled);
      }
    }
  }

  // From when on all is told, a row of its own in each device.
  void AddLeftOut() {
    std::vector<const TraceLeftOut*> all;
    for (const TraceLeftOut& left : trace_.left_out) all.push_back(&left);
    std::stable_sort(all.begin(), all.end(), [](const TraceLeftOut* a, const TraceLeftOut* b) {
      return std::tie(a->device, a->until) < std::tie(b->device, b->until);
    });
    for (size_t i = 0; i < all.size(); ++i) {
      const TraceLeftOut& left = *all[i];
      const TraceDevice& of = trace_.devices[left.device];
      if (i == 0 || all[i - 1]->device != left.device) {
        BeginLane(left.device, of.lanes + of.receive_lanes + 1, "left out");
      }
      PutWireNumber(event::kType, event::kInstant, &event_);
      AddWireText(event::kNameText, LeftOutWords(left), &event_);
      AddEvent(left.until);
    }
  }

  void AddValue(int64_t at, int64_t value) {
    PutWireNumber(event::kType, event::kCounter, &event_);
    PutWireNumber(event::kCounterValue, static_cast<uint64_t>(value), &event_);
    AddEvent(at);
  }

  // Which share of a device's lanes is busy in each of so many parts of the trace.
  void AddShares() {
    const auto [first, last] = std::minmax_element(
        trace_.steps.begin(), trace_.steps.end(),
        [](const TraceStep& a, const TraceStep& b) { return a.begin < b.begin; });
    if (first == trace_.steps.end()) return;
    const int64_t begin = first->begin;
    const int64_t part = std::max<int64_t>((last->end - begin) / kMostShares + 1, 1000);
    const auto parts = static_cast<size_t>((last->end - begin) / part + 1);
    std::vector<std::vector<int64_t>> busy(trace_.devices.size(), std::vector<int64_t>(parts));
    for (const TraceSpan& span : trace_.spans) {
      if (span.lane >= trace_.devices[span.device].lanes) continue;
      for (int64_t from = std::max(span.start, begin); from < span.end;) {
        const auto number = static_cast<size_t>((from - begin) / part);
        if (number >= parts) break;
        const int64_t to = std::min(span.end, begin + static_cast<int64_t>(number + 1) * part);
        busy[span.device][number] += to - from;
        from = to;
      }
    }
    for (uint32_t device = 0; device < busy.size(); ++device) {
      const int64_t whole = part * trace_.devices[device].lanes;
      if (whole == 0) continue;
      BeginCounter(device, "busy lanes", false);
      for (size_t i = 0, told = SIZE_MAX; i < parts; ++i) {
        const auto share = static_cast<size_t>(Percent(busy[device][i], whole));
        if (share == told) continue;
        AddValue(begin + static_cast<int64_t>(i) * part, static_cast<int64_t>(share));
        told = share;
      }
    }
  }

  // Of each kind that holds something.
  void AddMemory() {
    if (trace_.memory.empty()) return;
    std::vector<std::vector<MemoryPoint>> curves(trace_.devices.size());
    for (uint32_t step = 0; step < trace_.steps.size(); ++step) {
      for (const MemoryUse& use : MemoryOfStep(trace_, step)) {
        for (const MemoryPoint& point : MemoryCurve(use, kMostPoints)) {
          curves[use.device].push_back(point);
        }
      }
    }
    for (uint32_t device = 0; device < curves.size(); ++device) {
      for (size_t kind = 0; kind < kMemoryKinds; ++kind) AddKind(device, kind, curves[device]);
    }
  }
  void AddKind(uint32_t device, size_t kind, const std::vector<MemoryPoint>& curve) {
    if (std::all_of(curve.begin(), curve.end(),
                    [&](const MemoryPoint& point) { return point.bytes[kind] == 0; })) {
      return;
    }
    BeginCounter(device, "memory: " + std::string(MemoryKindName(static_cast<HeldKind>(kind))),
                 true);
    int64_t told = -1;
    for (const MemoryPoint& point : curve) {
      if (point.bytes[kind] == told) continue;
      told = point.bytes[kind];
      AddValue(point.at, told);
    }
  }

  const Trace& trace_;
  InternedTexts names_, nodes_;
  SpanFlows sent_, received_;
  int64_t begin_ = 0;  // nanoseconds since 1970, of all that is told
  int64_t last_ = 0;   // of the event before
  uint32_t sequence_ = 0;
  std::string out_, bytes_, event_, told_, annotation_;
};

}  // namespace

std::string PerfettoTrace(const Trace& trace) { return PerfettoWriter(trace).Write(); }

}  // namespace thalweg
