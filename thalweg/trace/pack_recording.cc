// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <initializer_list>
#include <unordered_map>
#include <utility>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/trace/packed_format.h"
#include "thalweg/trace/packed_recording.h"

namespace thalweg {
namespace {

using Part = PackedRecording::Part;
using Kind = RecordPart::Kind;

uint32_t BytesOfVarint(uint64_t value) {
  return (static_cast<uint32_t>(std::bit_width(value | 1)) + 6) / 7;
}

// The tenth byte of a varint has one bit that counts; others would be lost.
bool LosesBits(std::string_view varint, uint32_t width) {
  return width == 10 && static_cast<uint8_t>(varint[9]) > 1;
}

// A field as it stands there.
struct WholeField {
  uint32_t tag = 0;
  std::string_view all;   // with tag and length
  std::string_view body;  // of a text

  uint32_t number() const { return WireFieldNumber(tag); }
  bool IsText(uint32_t field) const { return tag == WireTag(field, WireType::kLengthDelimited); }
  std::string_view head() const { return all.substr(0, all.size() - body.size()); }
};

// False at the end, and where what follows is no whole field.
bool NextField(std::string_view bytes, WireReader* reader, WholeField* field) {
  const size_t begin = reader->offset();
  if (!reader->ReadTag(&field->tag)) return false;
  field->body = {};
  const bool is_whole = WireTypeOf(field->tag) == WireType::kLengthDelimited
                            ? reader->ReadBytes(&field->body)
                            : reader->Skip(field->tag);
  if (!is_whole) return false;
  field->all = bytes.substr(begin, reader->offset() - begin);
  return true;
}

bool HoldsNodes(std::string_view device) {
  WireReader reader(device);
  WholeField field;
  bool has_nodes = false;
  while (NextField(device, &reader, &field)) {
    has_nodes = has_nodes || field.IsText(pb::DeviceStepStats::kNodeStats);
  }
  return has_nodes && reader.AtEnd();
}

bool HoldsDevices(std::string_view stats) {
  WireReader reader(stats);
  WholeField field;
  bool has_devices = false;
  while (!has_devices && NextField(stats, &reader, &field)) {
    has_devices = field.IsText(pb::StepStats::kDevStats) && HoldsNodes(field.body);
  }
  return has_devices;
}

class Packer {
 public:
  std::string Pack(std::string_view recording) {
    WireReader reader(recording);
    WholeField field;
    size_t whole = 0;
    for (; NextField(recording, &reader, &field); whole = reader.offset()) {
      if (field.IsText(pb::RunMetadata::kStepStats) && HoldsDevices(field.body)) {
        AddStepStats(field);
      } else {
        Add(Part::kRest, field.all);
      }
    }
    Add(Part::kRest, recording.substr(whole));
    EndItem();
    return Written(recording.size());
  }

 private:
  void AddStepStats(const WholeField& stats) {
    Add(Part::kFrame, stats.head());
    WireReader reader(stats.body);
    WholeField field;
    size_t whole = 0;
    for (; NextField(stats.body, &reader, &field); whole = reader.offset()) {
      if (field.IsText(pb::StepStats::kDevStats)) {
        AddDevice(field);
      } else {
        Add(Part::kFrame, field.all);
      }
    }
    Add(Part::kFrame, stats.body.substr(whole));
  }

  void AddDevice(const WholeField& device) {
    EndItem();  // each begins one
    Add(Part::kDevice, device.head());
    WireReader reader(device.body);
    WholeField field;
    size_t whole = 0;
    for (; NextField(device.body, &reader, &field); whole = reader.offset()) {
      if (!field.IsText(pb::DeviceStepStats::kNodeStats) || !AddNode(field)) {
        Add(Part::kInDevice, field.all);
      }
    }
    Add(Part::kInDevice, device.body.substr(whole));
  }

  // False, and nothing is added, for a node that cannot be told so that the same bytes come back.
  bool AddNode(const WholeField& node) {
    key_.clear();
    values_.clear();
    bytes_.clear();
    parts_ = 0;
    if (node.head().size() != 1 + BytesOfVarint(node.body.size()) ||
        !ReadFields(node.body, &pb::NodeExecStats::Descriptor()) ||
        text_numbers_.size() + bytes_.size() > kMostTexts) {
      return false;
    }
    const Result<uint32_t> number = shapes_.Add(key_);
    columns_.resize(shapes_.columns());
    if (!number.ok()) return false;
    Add(Part::kNode, {});
    AddValues(*number);
    return true;
  }

  void AddValues(uint32_t number) {
    const RecordShape& shape = shapes_[number];
    uint32_t name = RecordShape::kNone;
    std::string_view name_text;
    if (shape.name == RecordShape::kNone) {
      AppendVarint(names_, kNoName);
    } else {
      name_text = bytes_[values_[shape.name]];
      const auto [of, is_new] = NumberOf(name_text);
      AppendVarint(names_, is_new ? kNewName : kKnownName + of);
      name = of;
    }
    const RecordHistory::Record& known = history_.Of(name);
    const RecordHistory::Record* const last = LastOfShape(known, number);
    AppendVarint(shape_numbers_, known.shape == number ? 0 : uint64_t{number} + 1);
    for (const uint32_t i : shape.order) {
      const RecordPart& part = shape.parts[i];
      std::string& column = columns_[part.column];
      if (i == shape.name) continue;
      if (part.kind == Kind::kBytes) {
        AppendBytes(column, bytes_[values_[i]]);
      } else if (part.kind == Kind::kText) {
        AddText(part, name_text, last == nullptr ? nullptr : &last->values[i], &values_[i]);
      } else {
        const uint64_t guess = history_.Guess(shape, i, values_, last);
        AppendVarint(column, ZigZagEncode(static_cast<int64_t>(values_[i] - guess)));
      }
    }
    history_.Keep(name, number, shape, values_);
  }

  // *value: where the text is in bytes_, and then what it is told by.
  void AddText(const RecordPart& part, std::string_view name, const uint64_t* last,
               uint64_t* value) {
    std::string_view text = bytes_[*value];
    const bool is_named = part.is_label && !name.empty() && text.starts_with(name);
    if (is_named) text.remove_prefix(name.size());
    const auto [number, is_new] = NumberOf(text);
    *value = uint64_t{number} << 1 | (is_named ? 1 : 0);
    const uint64_t told = is_new ? (is_named ? kNewTextNamed : kNewText)
                          : last != nullptr && *last == *value ? kSameText
                                                               : kKnownText + *value;
    AppendVarint(columns_[part.column], told);
  }

  // Into key_ and values_; false for what is not told.
  bool ReadFields(std::string_view bytes, const MessageDescriptor* type) {
    WireReader reader(bytes);
    while (!reader.AtEnd()) {
      const size_t begin = reader.offset();
      uint32_t tag = 0;
      if (++parts_ > RecordShape::kMostParts || !reader.ReadTag(&tag) ||
          reader.offset() - begin != BytesOfVarint(tag)) {
        return false;
      }
      if (!ReadValue(bytes, tag, type, &reader)) return false;
    }
    return true;
  }

  bool ReadValue(std::string_view bytes, uint32_t tag, const MessageDescriptor* type,
                 WireReader* reader) {
    const size_t begin = reader->offset();
    switch (WireTypeOf(tag)) {
      case WireType::kVarint: {
        uint64_t value = 0;
        if (!reader->ReadVarint(&value)) return false;
        const auto width = static_cast<uint32_t>(reader->offset() - begin);
        if (LosesBits(bytes.substr(begin), width)) return false;
        AddPart(Kind::kNumber, tag, width == BytesOfVarint(value) ? 0 : width, value);
        return true;
      }
      case WireType::kFixed32: {
        uint32_t value = 0;
        if (!reader->ReadFixed32(&value)) return false;
        AddPart(Kind::kFixed32, tag, 0, value);
        return true;
      }
      case WireType::kFixed64: {
        uint64_t value = 0;
        if (!reader->ReadFixed64(&value)) return false;
        AddPart(Kind::kFixed64, tag, 0, value);
        return true;
      }
      case WireType::kLengthDelimited:
        return ReadText(bytes, tag, type, reader);
      default:
        return false;
    }
  }

  bool ReadText(std::string_view bytes, uint32_t tag, const MessageDescriptor* type,
                WireReader* reader) {
    const size_t begin = reader->offset();
    std::string_view text;
    if (!reader->ReadBytes(&text)) return false;
    const auto taken = static_cast<uint32_t>(reader->offset() - begin - text.size());
    if (LosesBits(bytes.substr(begin), taken)) return false;
    const uint32_t width = taken == BytesOfVarint(text.size()) ? 0 : taken;
    const uint32_t number = WireFieldNumber(tag);
    const FieldDescriptor* const field = type->FindByNumber(number);
    if (field != nullptr && field->message != nullptr) {
      AddPart(Kind::kOpen, tag, width, 0);
      if (!ReadFields(text, field->message)) return false;
      PutPart(Kind::kClose, 0, 0, &key_);
      values_.push_back(0);
      return ++parts_ <= RecordShape::kMostParts;
    }
    bytes_.push_back(text);
    AddPart(number > kLastSharedField ? Kind::kBytes : Kind::kText, tag, width, bytes_.size() - 1);
    return true;
  }

  void AddPart(Kind kind, uint32_t tag, uint32_t width, uint64_t value) {
    PutPart(kind, tag, width, &key_);
    values_.push_back(value);
  }

  // And whether it is the first time.
  std::pair<uint32_t, bool> NumberOf(std::string_view text) {
    const auto [entry, is_new] =
        text_numbers_.try_emplace(text, static_cast<uint32_t>(text_numbers_.size()));
    if (is_new) AppendBytes(texts_, text);
    return {entry->second, is_new};
  }

  // What is of the same kind as the part before it is one item with it.
  void Add(Part part, std::string_view bytes) {
    if (part != Part::kNode && bytes.empty()) return;
    if (part != item_) EndItem();
    item_ = part;
    item_size_ += part == Part::kNode ? 1 : bytes.size();
    rest_ += bytes;
  }
  void EndItem() {
    if (item_size_ == 0) return;
    AppendVarint(items_, static_cast<uint64_t>(item_));
    AppendVarint(items_, item_size_);
    nodes_ += item_ == Part::kNode ? item_size_ : 0;
    item_size_ = 0;
  }

  std::string Written(uint64_t size) const {
    std::string packed(kPackedMagic), keys;
    AppendVarint(packed, size);
    AppendVarint(packed, nodes_);
    for (const std::string& key : shapes_.keys()) AppendBytes(keys, key);
    for (const std::string_view part : std::initializer_list<std::string_view>{
             items_, rest_, texts_, keys, names_, shape_numbers_}) {
      AppendBytes(packed, part);
    }
    for (const std::string& column : columns_) AppendBytes(packed, column);
    return packed;
  }

  RecordShapes shapes_;
  RecordHistory history_;
  std::string items_, rest_, texts_, names_, shape_numbers_;
  std::vector<std::string> columns_;
  std::unordered_map<std::string_view, uint32_t> text_numbers_;
  Part item_ = Part::kRest;
  uint64_t item_size_ = 0, nodes_ = 0;
  // Of the node that is being read:
  std::string key_;
  std::vector<uint64_t> values_;         // by part; of texts and bytes their place in
  std::vector<std::string_view> bytes_;  // this
  size_t parts_ = 0;
};

}  // namespace

std::string PackRecording(std::string_view recording) { return Packer().Pack(recording); }

}  // namespace thalweg
