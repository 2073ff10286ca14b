// SPDX-License-Identifier: Apache-2.0
// Fields of the binary form of messages, one by one: written without a Message, read as far as the
// bytes go.
//
//   AddWireText(2, name, &bytes);
//   const bool whole = VisitWireFields(bytes, [&](uint32_t field, uint64_t number,
//                                                 std::string_view text) { ... });
//   size_t size = 0;
//   WireField field;
//   WireFields fields(bytes);
//   while (fields.Next(&field)) {
//     if (field.number == pb::StepStats::kDevStats && IsText(field)) size += field.bytes.size();
//   }
//   if (fields.is_cut()) return DataLoss("cut off");
//
// Ownership: appends to the caller's bytes; what is read are views of them.
// Threads: one.
// Errors: none; of a text that goes beyond the end WireFields gives what there is, then nothing;
// VisitWireFields says false for malformed bytes, of which some fields may have been visited.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/proto/wire_reader.h"

namespace thalweg {

// Of a number that counts where it is 0, too.
inline void PutWireNumber(uint32_t field, uint64_t value, std::string* out) {
  AppendTag(*out, field, WireType::kVarint);
  AppendVarint(*out, value);
}
// Nothing for 0, which a reader takes an absent number for.
inline void AddWireNumber(uint32_t field, uint64_t value, std::string* out) {
  if (value != 0) PutWireNumber(field, value, out);
}
// Of an int32 or int64: what is negative takes ten bytes.
inline void AddWireInt(uint32_t field, int64_t value, std::string* out) {
  AddWireNumber(field, static_cast<uint64_t>(value), out);
}
// Bytes or a message, too.
inline void AddWireText(uint32_t field, std::string_view text, std::string* out) {
  AppendTag(*out, field, WireType::kLengthDelimited);
  AppendBytes(*out, text);
}

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;
  std::string_view bytes;
};

class WireFields {
 public:
  explicit WireFields(std::string_view bytes) : bytes_(bytes), reader_(bytes) {}
  bool Next(WireField* field) {
    uint32_t tag = 0;
    if (reader_.AtEnd()) return false;
    if (!reader_.ReadTag(&tag)) return Cut();
    field->number = WireFieldNumber(tag);
    field->type = WireTypeOf(tag);
    if (field->type == WireType::kVarint) return reader_.ReadVarint(&field->value) || Cut();
    if (field->type != WireType::kLengthDelimited) return reader_.Skip(tag) || Cut();
    if (reader_.ReadBytes(&field->bytes)) return true;
    uint64_t size = 0;
    is_cut_ = true;
    if (!reader_.ReadVarint(&size)) return false;
    field->bytes = bytes_.substr(reader_.offset());
    reader_ = WireReader({});
    return true;
  }
  bool is_cut() const { return is_cut_; }

 private:
  bool Cut() {
    is_cut_ = true;
    return false;
  }
  std::string_view bytes_;
  WireReader reader_;
  bool is_cut_ = false;
};

inline bool IsText(const WireField& field) { return field.type == WireType::kLengthDelimited; }

// Calls visit(field, number, text) for each number and each text.
template <class F>
bool VisitWireFields(std::string_view bytes, F&& visit) {
  WireFields fields(bytes);
  for (WireField field; fields.Next(&field) && !fields.is_cut();) {
    if (field.type == WireType::kVarint) visit(field.number, field.value, std::string_view());
    if (IsText(field)) visit(field.number, uint64_t{0}, field.bytes);
  }
  return !fields.is_cut();
}

}  // namespace thalweg
