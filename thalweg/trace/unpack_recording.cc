// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/trace/packed_format.h"
#include "thalweg/trace/packed_recording.h"
#include "thalweg/trace/trace.h"

namespace thalweg {
namespace {

using Part = PackedRecording::Part;
using Kind = RecordPart::Kind;

Status Damaged(std::string_view where) {
  return DataLoss("expected a whole compact recording, found it damaged: ", where);
}

// In so many bytes; 0: in as few as it takes.
void PutVarint(uint64_t value, uint32_t width, std::string* out) {
  if (width == 0) {
    AppendVarint(*out, value);
    return;
  }
  for (uint32_t i = 1; i < width; ++i, value >>= 7) {
    *out += static_cast<char>(static_cast<uint8_t>(value) | 0x80);
  }
  *out += static_cast<char>(value & 0x7f);
}

Result<std::vector<std::string_view>> ReadAll(std::string_view section) {
  std::vector<std::string_view> all;
  WireReader reader(section);
  std::string_view bytes;
  while (reader.ReadBytes(&bytes)) {
    if (all.size() == kMostTexts) return Damaged("it has more texts than any");
    all.push_back(bytes);
  }
  if (!reader.AtEnd()) return Damaged("its texts end too early");
  return all;
}

// The nodes, in their order.
class NodeReader {
 public:
  NodeReader(const RecordShapes& shapes, const std::vector<std::string_view>& texts,
             const std::vector<std::string_view>& columns, std::string_view names,
             std::string_view shape_numbers)
      : shapes_(shapes), texts_(texts), names_(names), shape_numbers_(shape_numbers) {
    for (const std::string_view column : columns) columns_.emplace_back(column);
  }

  // The field of the next one, with its tag and its length, valid until the next call. `most`: of
  // bytes; what would have more is damaged.
  Result<std::string_view> Next(uint64_t most) {
    uint32_t name = RecordShape::kNone;
    uint64_t code = 0;
    if (!ReadName(&name) || !shape_numbers_.ReadVarint(&code)) {
      return Damaged("a node without a name or fields");
    }
    const RecordHistory::Record& known = history_.Of(name);
    const uint64_t number = code == 0 ? known.shape : code - 1;
    if (number >= shapes_.size() || (shapes_[static_cast<uint32_t>(number)].name ==
                                     RecordShape::kNone) != (name == RecordShape::kNone)) {
      return Damaged("a node with fields that are none");
    }
    const auto shape_number = static_cast<uint32_t>(number);
    const RecordShape& shape = shapes_[shape_number];
    values_.assign(shape.parts.size(), 0);
    bytes_.clear();
    name_ = name == RecordShape::kNone ? std::string_view() : texts_[name];
    if (name != RecordShape::kNone) values_[shape.name] = uint64_t{name} << 1;
    const RecordHistory::Record* const last = LastOfShape(known, shape_number);
    for (const uint32_t i : shape.order) {
      if (i != shape.name && !ReadValue(shape, i, last)) {
        return Damaged("a node whose values are not there");
      }
    }
    history_.Keep(name, shape_number, shape, values_);
    if (!Write(shape, most)) return Damaged("it holds more bytes than it says");
    return std::string_view(field_);
  }

  bool AtEnd() const {
    return names_.AtEnd() && shape_numbers_.AtEnd() &&
           std::ranges::all_of(columns_, [](const WireReader& column) { return column.AtEnd(); });
  }

 private:
  bool ReadName(uint32_t* name) {
    uint64_t code = 0;
    if (!names_.ReadVarint(&code)) return false;
    if (code == kNoName) return true;
    const uint64_t number = code == kNewName ? next_text_++ : code - kKnownName;
    *name = static_cast<uint32_t>(number);
    return number < texts_.size();
  }

  bool ReadText(uint64_t code, const uint64_t* last, uint64_t* value) {
    if (code == kSameText) {
      if (last == nullptr) return false;
      *value = *last;
    } else if (code < kKnownText) {
      *value = next_text_++ << 1 | (code == kNewTextNamed ? 1 : 0);
    } else {
      *value = code - kKnownText;
    }
    return *value >> 1 < texts_.size();
  }

  bool ReadValue(const RecordShape& shape, uint32_t i, const RecordHistory::Record* last) {
    const RecordPart& part = shape.parts[i];
    WireReader& column = columns_[part.column];
    uint64_t code = 0;
    if (part.kind == Kind::kBytes) {
      std::string_view bytes;
      if (!column.ReadBytes(&bytes)) return false;
      values_[i] = bytes_.size();
      bytes_.push_back(bytes);
      return true;
    }
    if (!column.ReadVarint(&code)) return false;
    if (part.kind == Kind::kText) {
      return ReadText(code, last == nullptr ? nullptr : &last->values[i], &values_[i]);
    }
    values_[i] =
        history_.Guess(shape, i, values_, last) + static_cast<uint64_t>(ZigZagDecode(code));
    return part.kind != Kind::kFixed32 || values_[i] <= UINT32_MAX;
  }

  bool Write(const RecordShape& shape, uint64_t most) {
    body_.clear();
    open_.clear();
    for (uint32_t i = 0; i < shape.parts.size(); ++i) {
      const RecordPart& part = shape.parts[i];
      if (part.kind == Kind::kClose) {
        const auto [tag_end, width] = open_.back();
        open_.pop_back();
        length_.clear();
        PutVarint(body_.size() - tag_end, width, &length_);
        body_.insert(tag_end, length_);
        continue;
      }
      AppendVarint(body_, part.tag);
      if (part.kind == Kind::kOpen) {
        open_.emplace_back(body_.size(), part.width);
      } else {
        WriteValue(part, values_[i]);
      }
      if (body_.size() > most) return false;
    }
    field_.clear();
    AppendTag(field_, pb::DeviceStepStats::kNodeStats, WireType::kLengthDelimited);
    AppendBytes(field_, body_);
    return field_.size() <= most;
  }

  void WriteValue(const RecordPart& part, uint64_t value) {
    switch (part.kind) {
      case Kind::kNumber:
        PutVarint(value, part.width, &body_);
        return;
      case Kind::kFixed32:
        AppendFixed32(body_, static_cast<uint32_t>(value));
        return;
      case Kind::kFixed64:
        AppendFixed64(body_, value);
        return;
      default: {
        const bool is_bytes = part.kind == Kind::kBytes;
        const std::string_view text = is_bytes ? bytes_[value] : texts_[value >> 1];
        const std::string_view name = is_bytes || (value & 1) == 0 ? std::string_view() : name_;
        PutVarint(name.size() + text.size(), part.width, &body_);
        body_ += name;
        body_ += text;
      }
    }
  }

  const RecordShapes& shapes_;
  const std::vector<std::string_view>& texts_;
  WireReader names_, shape_numbers_;
  std::vector<WireReader> columns_;
  RecordHistory history_;
  uint64_t next_text_ = 0;
  std::string_view name_;  // of the node that is read
  std::vector<uint64_t> values_;
  std::vector<std::string_view> bytes_;
  std::vector<std::pair<size_t, uint32_t>> open_;  // where the lengths of messages go
  std::string body_, field_, length_;
};

}  // namespace

bool IsPackedRecording(std::string_view bytes) { return bytes.starts_with(kPackedMagic); }

Result<PackedRecording> PackedRecording::Open(std::string_view packed) {
  PackedRecording recording;
  WireReader reader(packed.substr(std::min(kPackedMagic.size(), packed.size())));
  std::string_view texts, keys;
  if (!IsPackedRecording(packed) || !reader.ReadVarint(&recording.size_) ||
      !reader.ReadVarint(&recording.nodes_)) {
    return Damaged("it ends at its head");
  }
  if (recording.size_ > kMostUnpacked) {
    return DataLoss("expected a compact recording of at most ", BytesWords(int64_t{kMostUnpacked}),
                    ", found one that says it is ", recording.size_, " bytes");
  }
  for (std::string_view* section : {&recording.items_, &recording.rest_, &texts, &keys,
                                    &recording.names_, &recording.shape_numbers_}) {
    if (!reader.ReadBytes(section)) return Damaged("it ends too early");
  }
  ASSIGN_OR_RETURN(recording.texts_, ReadAll(texts));
  ASSIGN_OR_RETURN(const std::vector<std::string_view> all_keys, ReadAll(keys));
  for (const std::string_view key : all_keys) {
    Result<uint32_t> number = recording.shapes_.Add(key);
    if (!number.ok()) return Damaged(number.status().message());
  }
  if (recording.shapes_.size() != all_keys.size()) return Damaged("fields are told twice");
  for (size_t i = 0; i < recording.shapes_.columns(); ++i) {
    std::string_view column;
    if (!reader.ReadBytes(&column)) return Damaged("it ends too early");
    recording.columns_.push_back(column);
  }
  // Each has a name, so that nobody makes room for nodes that are none.
  if (!reader.AtEnd() || recording.nodes_ > recording.names_.size()) {
    return Damaged("it has not the nodes that it says");
  }
  return recording;
}

Status PackedRecording::Visit(const Take& take) const {
  NodeReader nodes(shapes_, texts_, columns_, names_, shape_numbers_);
  WireReader items(items_);
  std::string_view rest = rest_;
  uint64_t left = size_, nodes_left = nodes_;
  while (!items.AtEnd()) {
    uint64_t part = 0, size = 0;
    if (!items.ReadVarint(&part) || !items.ReadVarint(&size) ||
        part > static_cast<uint64_t>(Part::kNode)) {
      return Damaged("what follows what is not told");
    }
    if (static_cast<Part>(part) != Part::kNode) {
      if (size > rest.size() || size > left) return Damaged("it holds more bytes than it says");
      take(static_cast<Part>(part), rest.substr(0, size));
      rest.remove_prefix(size);
      left -= size;
      continue;
    }
    if (size > nodes_left) return Damaged("it has not the nodes that it says");
    nodes_left -= size;
    for (; size > 0; --size) {
      ASSIGN_OR_RETURN(const std::string_view field, nodes.Next(left));
      take(Part::kNode, field);
      left -= field.size();
    }
  }
  if (left != 0 || nodes_left != 0 || !rest.empty() || !nodes.AtEnd()) {
    return Damaged("it holds fewer bytes than it says");
  }
  return OkStatus();
}

Result<std::string> PackedRecording::Unpack() const {
  std::string recording;
  RETURN_IF_ERROR(Visit([&](Part, std::string_view part) { recording += part; }));
  return recording;
}

}  // namespace thalweg
