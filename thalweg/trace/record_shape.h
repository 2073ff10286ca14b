// SPDX-License-Identifier: Apache-2.0
// RecordShape: which fields a NodeExecStats message has, in their order, and from what each value
// can be guessed. Packers and unpackers of recordings (packed_recording.h) share it.
//
//   RecordShapes shapes;
//   ASSIGN_OR_RETURN(const uint32_t number, shapes.Add(key));  // fields, as PutPart writes them
//   const RecordShape& shape = shapes[number];
//   RecordHistory history;
//   uint64_t guess = history.Guess(shape, shape.order[0], values, &history.Of(name_number));
//   history.Keep(name_number, number, shape, values);
//
// Times are guessed from the others of the record and from the end of the record before; any other
// value is what the last record of the same name had there.
// Ownership: owns everything.
// Threads: one.
// Errors: DataLoss for a key that is no shape, or for more of them than kMostKeyBytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

struct RecordPart {
  enum class Kind : uint8_t {
    kNumber,
    kFixed32,
    kFixed64,
    kText,   // one of many the same
    kBytes,  // as they are
    kOpen,   // a message; its fields follow
    kClose,
  };
  Kind kind = Kind::kNumber;
  uint32_t tag = 0;
  uint32_t width = 0;  // bytes of the number, or of the length, where it could have fewer; else 0

  // What Add finds.
  bool is_label = false;  // which mostly begins with the node's name
  uint32_t column = 0;    // that of all values with the same path of fields
  enum class Guess : uint8_t { kLast, kNothing, kPart, kPreviousEnd };
  Guess guess = Guess::kLast;
  uint32_t from = 0;     // of kPart: which
  uint32_t divisor = 1;  // of kPart and kPreviousEnd

  bool HasValue() const { return kind != Kind::kOpen && kind != Kind::kClose; }
};

struct RecordShape {
  static constexpr size_t kMostParts = 4096;
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<RecordPart> parts;
  std::vector<uint32_t> order;  // parts with values, those that are guessed from others after them
  uint32_t name = kNone;        // the part with the node's name
  uint32_t start = kNone, end = kNone;    // the finest that the record has
  uint64_t start_unit = 1, end_unit = 1;  // nanoseconds
};

// Appends what Add reads.
void PutPart(RecordPart::Kind kind, uint32_t tag, uint32_t width, std::string* key);

class RecordShapes {
 public:
  // Of all keys: a shape takes up to a hundred times its key, and no session writes that many.
  static constexpr size_t kMostKeyBytes = size_t{1} << 22;

  // The number of the shape with this key.
  Result<uint32_t> Add(std::string_view key);
  const RecordShape& operator[](uint32_t number) const { return shapes_[number]; }
  size_t size() const { return shapes_.size(); }
  // In order of their numbers.
  const std::vector<std::string>& keys() const { return keys_; }
  size_t columns() const { return columns_.size(); }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> keys_;
  std::vector<RecordShape> shapes_;
  std::map<std::string, uint32_t> columns_;  // by path
  size_t key_bytes_ = 0;
};

// What was seen of records until now.
class RecordHistory {
 public:
  struct Record {
    uint32_t shape = RecordShape::kNone;
    std::vector<uint64_t> values;  // of the shape's parts; empty: not kept
  };
  // Of a name's number; RecordShape::kNone: of the records without one.
  const Record& Of(uint32_t name) const;
  // `values`: of this record, as far as they come before the part in RecordShape::order; `last`: of
  // its name, if it has the same shape.
  uint64_t Guess(const RecordShape& shape, uint32_t part, const std::vector<uint64_t>& values,
                 const Record* last) const;
  void Keep(uint32_t name, uint32_t number, const RecordShape& shape,
            const std::vector<uint64_t>& values);

 private:
  std::unordered_map<uint32_t, Record> by_name_;
  uint64_t previous_end_ = 0;
  size_t kept_ = 0;  // values
};

}  // namespace thalweg
