// SPDX-License-Identifier: Apache-2.0
// WireFields: the fields of a message one by one, as far as its bytes go.
//
//   WireField field;
//   WireFields fields(bytes);
//   while (fields.Next(&field)) {
//     if (field.number == pb::StepStats::kDevStats && IsText(field)) Use(field.bytes);
//   }
//   if (fields.is_cut()) Use("cut off");
//
// Ownership: views of the caller's bytes.
// Threads: one.
// Errors: none; of a text that goes beyond the end there is what there is, then nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "thalweg/proto/wire_reader.h"

namespace thalweg {

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

}  // namespace thalweg
