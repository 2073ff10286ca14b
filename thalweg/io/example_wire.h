// SPDX-License-Identifier: Apache-2.0
// Features in the wire format of an Example or SequenceExample, found and read without a message
// tree: the bytes of a value go from the message into the tensor, once.
//
//   const FeatureKeys keys({"image", "label"});
//   std::string_view found[2];                       // data() is null for a key that is not there
//   if (!FindFeatures(message, keys, found)) return DataLoss(...);
//   EncodedList list;                                // the values of one feature
//   if (!ReadFeature(found[1], &list) || list.kind != FeatureKind::kInt64) return DataLoss(...);
//   const int64_t n = CountValues(list);             // -1: not as written
//   ReadValues(list, int64s.data());                 // n of them
//
// The last of a key that comes twice counts, and the first list of a feature. An entry of the map
// has a key and a value and nothing else; what else stands beside Features is skipped.
// Ownership: views point into the message; FeatureKeys has copies of its keys.
// Threads: any.
// Errors: false or -1; the caller knows which example and key it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/proto/wire_reader.h"

namespace thalweg {

// The keys that are asked for, in a hash table made once.
class FeatureKeys {
 public:
  explicit FeatureKeys(std::vector<std::string> keys);
  int size() const { return static_cast<int>(keys_.size()); }
  const std::string& key(int i) const { return keys_[static_cast<size_t>(i)]; }
  const std::vector<std::string>& all() const { return keys_; }
  // The number of a key: the first one, where it stands several times; -1 for others.
  int Find(std::string_view key) const;
  // Whether another key before this one is the same, and which; itself otherwise.
  int first(int i) const { return first_[static_cast<size_t>(i)]; }
  bool has_repeated() const { return has_repeated_; }

 private:
  static size_t Hash(std::string_view key);

  std::vector<std::string> keys_;
  std::vector<int> first_;
  std::vector<int> slots_;  // a power of two, at most half full; -1: free
  bool has_repeated_ = false;
};

// The entries of a Features or FeatureLists message, one after the other.
class FeatureMapReader {
 public:
  explicit FeatureMapReader(std::string_view map) : reader_(map) {}
  // False at the end, and where something else than an entry comes: then !AtEnd().
  bool Next(std::string_view* key, std::string_view* value);
  bool AtEnd() const { return !failed_ && reader_.AtEnd(); }

 private:
  WireReader reader_;
  bool failed_ = false;
};

// Where an Example has its Features, and a SequenceExample its context and its FeatureLists.
inline constexpr uint32_t kFeaturesField = 1;
inline constexpr uint32_t kFeatureListsField = 2;

// found[i] becomes the message of key i: of the Features (or, in field 2, the FeatureLists) in
// `example`. Those before stay where the message has none. False: it is not such a message.
bool FindFeatures(std::string_view example, const FeatureKeys& keys, std::string_view* found,
                  uint32_t field = kFeaturesField);

enum class FeatureKind : uint8_t { kNone, kBytes, kFloat, kInt64 };

// The values of a feature, still encoded.
struct EncodedList {
  FeatureKind kind = FeatureKind::kNone;
  std::string_view bytes;
};
// kNone for an empty Feature. False: it begins with something else than a list.
bool ReadFeature(std::string_view feature, EncodedList* list);

// -1 when the list is not as written.
int64_t CountValues(const EncodedList& list);
// All that CountValues has counted. False: a number has too many bytes.
bool ReadValues(const EncodedList& list, float* values);
bool ReadValues(const EncodedList& list, int64_t* values);
// For a list of bytes: the next of them, for as long as there is one; false at the end.
class BytesReader {
 public:
  explicit BytesReader(const EncodedList& list) : reader_(list.bytes) {}
  bool Next(std::string_view* value) {
    uint32_t tag;
    return reader_.ReadTag(&tag) && reader_.ReadBytes(value);
  }

 private:
  WireReader reader_;
};

// The features of a FeatureList, one after the other.
class FeatureListReader {
 public:
  explicit FeatureListReader(std::string_view feature_list) : reader_(feature_list) {}
  // False at the end, and where something else comes: then !AtEnd().
  bool Next(std::string_view* feature);
  bool AtEnd() const { return reader_.AtEnd(); }

 private:
  WireReader reader_;
};

}  // namespace thalweg
