// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/record_shape.h"

#include <algorithm>
#include <utility>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

namespace Exec = pb::NodeExecStats;
using Kind = RecordPart::Kind;

constexpr size_t kMostOpen = 16;
constexpr uint32_t kWidest = 10;          // of a varint
constexpr size_t kMostKept = 16'000'000;  // values of a history: a bound for what no session wrote

// Of times, what is nearest; the first of a field that the record has.
struct TimeRule {
  uint32_t field;
  uint32_t from;  // 0: the end of the record before; the field itself: nothing is near
  uint32_t divisor;
};
constexpr TimeRule kTimeRules[] = {
    {Exec::kAllStartNanos, 0, 1},
    {Exec::kAllStartMicros, Exec::kAllStartNanos, 1000},
    {Exec::kAllStartMicros, 0, 1000},
    {Exec::kScheduledNanos, Exec::kAllStartNanos, 1},
    {Exec::kScheduledMicros, Exec::kScheduledNanos, 1000},
    {Exec::kScheduledMicros, Exec::kAllStartMicros, 1},
    {Exec::kAllEndRelNanos, Exec::kAllEndRelNanos, 1},
    {Exec::kAllEndRelMicros, Exec::kAllEndRelNanos, 1000},
    {Exec::kAllEndRelMicros, Exec::kAllEndRelMicros, 1},
    {Exec::kOpEndRelNanos, Exec::kAllEndRelNanos, 1},
    {Exec::kOpEndRelMicros, Exec::kOpEndRelNanos, 1000},
    {Exec::kOpEndRelMicros, Exec::kAllEndRelMicros, 1},
    {Exec::kOpStartRelNanos, Exec::kOpStartRelNanos, 1},
    {Exec::kOpStartRelMicros, Exec::kOpStartRelNanos, 1000},
    {Exec::kOpStartRelMicros, Exec::kOpStartRelMicros, 1},
};

// When a block came or went: memory, allocation_records, alloc_micros.
bool IsMomentOfBlock(const std::vector<uint32_t>& path) {
  return path == std::vector<uint32_t>{Exec::kMemory, pb::AllocatorMemoryUsed::kAllocationRecords,
                                       pb::AllocationRecord::kAllocMicros};
}

class ShapeReader {
 public:
  ShapeReader(std::string_view key, std::map<std::string, uint32_t>* columns)
      : key_(key), columns_(*columns) {}

  Result<RecordShape> Read() {
    while (!key_.AtEnd()) {
      if (!ReadPart() || shape_.parts.size() > RecordShape::kMostParts) {
        return DataLoss("what fields an entry has is damaged");
      }
    }
    if (!path_.empty()) return DataLoss("what fields an entry has is damaged");
    FindGuesses();
    FindOrder();
    return std::move(shape_);
  }

 private:
  bool ReadPart() {
    uint64_t kind = 0;
    uint32_t tag = 0;
    if (!key_.ReadVarint(&kind) || (kind & 7) > static_cast<uint64_t>(Kind::kClose)) return false;
    RecordPart part;
    part.kind = static_cast<Kind>(kind & 7);
    if (kind >> 3 > kWidest) return false;
    part.width = static_cast<uint32_t>(kind >> 3);
    if (part.kind == Kind::kClose) {
      if (path_.empty()) return false;
      path_.pop_back();
      shape_.parts.push_back(part);
      return true;
    }
    if (!key_.ReadTag(&tag) || WireTypeOf(tag) != TypeOf(part.kind)) return false;
    part.tag = tag;
    path_.push_back(WireFieldNumber(tag));
    if (part.kind == Kind::kOpen) {
      shape_.parts.push_back(part);
      return path_.size() <= kMostOpen;
    }
    AddValue(part);
    path_.pop_back();
    return true;
  }

  static WireType TypeOf(Kind kind) {
    switch (kind) {
      case Kind::kNumber:
        return WireType::kVarint;
      case Kind::kFixed32:
        return WireType::kFixed32;
      case Kind::kFixed64:
        return WireType::kFixed64;
      default:
        return WireType::kLengthDelimited;
    }
  }

  void AddValue(RecordPart part) {
    std::string path;
    for (const uint32_t field : path_) AppendVarint(path, field);
    path += static_cast<char>('0' + static_cast<int>(part.kind));
    part.column = columns_.try_emplace(std::move(path), columns_.size()).first->second;
    const auto place = static_cast<uint32_t>(shape_.parts.size());
    if (path_.size() == 1) {
      if (part.kind == Kind::kNumber) fields_.try_emplace(path_[0], place);
      if (part.kind == Kind::kText && path_[0] == Exec::kNodeName &&
          shape_.name == RecordShape::kNone) {
        shape_.name = place;
      }
      part.is_label = part.kind == Kind::kText && path_[0] == Exec::kTimelineLabel;
    }
    if (part.kind == Kind::kNumber && IsMomentOfBlock(path_)) moments_.push_back(place);
    shape_.parts.push_back(part);
  }

  uint32_t PlaceOf(uint32_t field) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? RecordShape::kNone : found->second;
  }

  void FindGuesses() {
    for (const TimeRule& rule : kTimeRules) {
      const uint32_t place = PlaceOf(rule.field), from = PlaceOf(rule.from);
      if (place == RecordShape::kNone) continue;
      RecordPart& part = shape_.parts[place];
      if (part.guess != RecordPart::Guess::kLast) continue;
      if (rule.from != 0 && from == RecordShape::kNone) continue;
      part.guess = rule.from == 0            ? RecordPart::Guess::kPreviousEnd
                   : rule.from == rule.field ? RecordPart::Guess::kNothing
                                             : RecordPart::Guess::kPart;
      part.from = from;
      part.divisor = rule.divisor;
    }
    const auto finest = [&](uint32_t nanos, uint32_t micros, uint32_t* place, uint64_t* unit) {
      *place = PlaceOf(nanos);
      if (*place != RecordShape::kNone) return;
      *place = PlaceOf(micros);
      *unit = 1000;
    };
    finest(Exec::kAllStartNanos, Exec::kAllStartMicros, &shape_.start, &shape_.start_unit);
    finest(Exec::kAllEndRelNanos, Exec::kAllEndRelMicros, &shape_.end, &shape_.end_unit);
    for (const uint32_t place : moments_) {
      if (shape_.start == RecordShape::kNone) break;
      RecordPart& part = shape_.parts[place];
      part.guess = RecordPart::Guess::kPart;
      part.from = shape_.start;
      part.divisor = shape_.start_unit == 1 ? 1000 : 1;
    }
  }

  // What a guess is taken from comes first; the rules have no circle.
  void FindOrder() {
    std::vector<uint32_t> depth(shape_.parts.size());
    for (uint32_t i = 0; i < shape_.parts.size(); ++i) {
      if (shape_.parts[i].HasValue()) shape_.order.push_back(i);
      for (uint32_t at = i; shape_.parts[at].guess == RecordPart::Guess::kPart;
           at = shape_.parts[at].from) {
        ++depth[i];
      }
    }
    std::stable_sort(shape_.order.begin(), shape_.order.end(),
                     [&](uint32_t a, uint32_t b) { return depth[a] < depth[b]; });
  }

  WireReader key_;
  std::map<std::string, uint32_t>& columns_;
  RecordShape shape_;
  std::vector<uint32_t> path_;
  std::map<uint32_t, uint32_t> fields_;  // numbers of the record itself, by field
  std::vector<uint32_t> moments_;
};

}  // namespace

void PutPart(RecordPart::Kind kind, uint32_t tag, uint32_t width, std::string* key) {
  AppendVarint(*key, static_cast<uint64_t>(kind) | uint64_t{width} << 3);
  if (kind != Kind::kClose) AppendVarint(*key, tag);
}

Result<uint32_t> RecordShapes::Add(std::string_view key) {
  std::string owned(key);
  if (const auto found = numbers_.find(owned); found != numbers_.end()) return found->second;
  if (key.size() > kMostKeyBytes - key_bytes_) {
    return DataLoss("expected at most ", kMostKeyBytes, " bytes that say what fields entries have");
  }
  ASSIGN_OR_RETURN(RecordShape shape, ShapeReader(key, &columns_).Read());
  key_bytes_ += key.size();
  const auto number = static_cast<uint32_t>(shapes_.size());
  shapes_.push_back(std::move(shape));
  keys_.push_back(owned);
  numbers_.emplace(std::move(owned), number);
  return number;
}

const RecordHistory::Record& RecordHistory::Of(uint32_t name) const {
  static const Record kNothing;
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? kNothing : found->second;
}

uint64_t RecordHistory::Guess(const RecordShape& shape, uint32_t part,
                              const std::vector<uint64_t>& values, const Record* last) const {
  const RecordPart& of = shape.parts[part];
  switch (of.guess) {
    case RecordPart::Guess::kLast:
      return last == nullptr ? 0 : last->values[part];
    case RecordPart::Guess::kNothing:
      return 0;
    case RecordPart::Guess::kPart:
      return values[of.from] / of.divisor;
    case RecordPart::Guess::kPreviousEnd:
      return previous_end_ / of.divisor;
  }
  return 0;
}

void RecordHistory::Keep(uint32_t name, uint32_t number, const RecordShape& shape,
                         const std::vector<uint64_t>& values) {
  if (shape.start != RecordShape::kNone) {
    previous_end_ = values[shape.start] * shape.start_unit;
    if (shape.end != RecordShape::kNone) previous_end_ += values[shape.end] * shape.end_unit;
  }
  Record& record = by_name_[name];
  record.shape = number;
  kept_ -= record.values.size();
  const bool is_kept = kept_ + values.size() <= kMostKept;
  // What is counted is what memory is held for: a vector that shrinks keeps its own.
  if (!is_kept || values.size() < record.values.size()) record.values = std::vector<uint64_t>();
  if (!is_kept) return;
  kept_ += values.size();
  record.values = values;
}

}  // namespace thalweg
