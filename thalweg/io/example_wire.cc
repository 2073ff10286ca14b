// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/example_wire.h"

#include <bit>
#include <cstring>

namespace thalweg {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kEntryTag = WireTag(1, WireType::kLengthDelimited);
constexpr uint32_t kKeyTag = WireTag(1, WireType::kLengthDelimited);
constexpr uint32_t kValueTag = WireTag(2, WireType::kLengthDelimited);
constexpr uint32_t kPackedTag = WireTag(1, WireType::kLengthDelimited);
constexpr uint32_t kFloatTag = WireTag(1, WireType::kFixed32);
constexpr uint32_t kIntTag = WireTag(1, WireType::kVarint);
constexpr uint64_t kMoreBits = 0x8080808080808080u;  // of eight bytes: another one follows

// A key and a value, in either order.
bool ReadEntry(std::string_view entry, std::string_view* key, std::string_view* value) {
  WireReader reader(entry);
  uint32_t tag;
  bool has_key = false, has_value = false;
  while (reader.ReadTag(&tag)) {
    if (tag == kKeyTag) {
      if (!reader.ReadBytes(key)) return false;
      has_key = true;
    } else if (tag == kValueTag) {
      if (!reader.ReadBytes(value)) return false;
      has_value = true;
    } else {
      return false;
    }
  }
  return reader.AtEnd() && has_key && has_value;
}

bool FindInMap(std::string_view map, const FeatureKeys& keys, std::string_view* found) {
  FeatureMapReader reader(map);
  std::string_view key, value;
  while (reader.Next(&key, &value)) {
    const int i = keys.Find(key);
    if (i >= 0) found[i] = value;
  }
  return reader.AtEnd();
}

// Numbers of the packed bytes; -1 when the last one is cut off.
int64_t CountVarints(std::string_view packed) {
  if (packed.empty()) return 0;
  if ((static_cast<unsigned char>(packed.back()) & 0x80) != 0) return -1;
  int64_t n = 0;
  size_t i = 0;
  for (; i + 8 <= packed.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, packed.data() + i, 8);
    // Each of the eight bits lands in the highest byte.
    n += 8 - static_cast<int64_t>(((word & kMoreBits) >> 7) * 0x0101010101010101u >> 56);
  }
  for (; i < packed.size(); ++i) n += (static_cast<unsigned char>(packed[i]) & 0x80) == 0;
  return n;
}

// The number at *p, of which ten bytes may be read; null when it has more. Each byte but the last
// adds its continuation bit to the sum, which the next one takes away again.
const unsigned char* ReadVarint(const unsigned char* p, uint64_t* value) {
  uint64_t sum = *p;
  for (int shift = 7; (*p++ & 0x80) != 0; shift += 7) {
    if (shift > 63) return nullptr;
    sum += (static_cast<uint64_t>(*p) - 1) << shift;
  }
  *value = sum;
  return p;
}

// Null when a number has more than ten bytes. The last one is whole (CountVarints).
int64_t* ReadVarints(std::string_view packed, int64_t* to) {
  const auto* p = reinterpret_cast<const unsigned char*>(packed.data());
  const unsigned char* const end = p + packed.size();
  uint64_t value;
  while (p < end) {
    if (end - p >= 8) {
      uint64_t word;
      std::memcpy(&word, p, 8);
      if ((word & kMoreBits) == 0) {
        for (int i = 0; i < 8; ++i) to[i] = p[i];
        to += 8;
        p += 8;
        continue;
      }
      // Short ones, most of all there are, without a loop.
      for (int i = 0; i < 2; ++i) {
        if (p[0] < 0x80) {
          *to++ = *p++;
        } else if (p[1] < 0x80) {
          *to++ = p[0] + ((p[1] - 1) << 7);
          p += 2;
        } else if (p[2] < 0x80) {
          *to++ = p[0] + ((p[1] - 1) << 7) + ((p[2] - 1) << 14);
          p += 3;
        } else {
          p = ReadVarint(p, &value);
          if (p == nullptr) return nullptr;
          *to++ = static_cast<int64_t>(value);
          break;
        }
      }
      continue;
    }
    p = ReadVarint(p, &value);
    if (p == nullptr) return nullptr;
    *to++ = static_cast<int64_t>(value);
  }
  return to;
}

}  // namespace

bool FeatureMapReader::Next(std::string_view* key, std::string_view* value) {
  uint32_t tag;
  std::string_view entry;
  if (!reader_.ReadTag(&tag)) return false;
  failed_ = tag != kEntryTag || !reader_.ReadBytes(&entry) || !ReadEntry(entry, key, value);
  return !failed_;
}

FeatureKeys::FeatureKeys(std::vector<std::string> keys)
    : keys_(std::move(keys)), slots_(std::bit_ceil(2 * keys_.size() + 1), -1) {
  for (int i = 0; i < size(); ++i) {
    const int before = Find(key(i));
    first_.push_back(before < 0 ? i : before);
    has_repeated_ |= before >= 0;
    if (before >= 0) continue;
    size_t slot = Hash(key(i)) & (slots_.size() - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = i;
  }
}

// The hash takes in the length, the first and the last (up to) eight bytes.
size_t FeatureKeys::Hash(std::string_view key) {
  const size_t size = key.size();
  uint64_t head = 0, tail = 0;
  if (size >= 8) {
    std::memcpy(&head, key.data(), 8);
    std::memcpy(&tail, key.data() + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(&head, key.data(), 4);
    std::memcpy(&tail, key.data() + size - 4, 4);
  } else if (size > 0) {
    head = static_cast<unsigned char>(key[0]) |
           static_cast<uint64_t>(static_cast<unsigned char>(key[size / 2])) << 8;
    tail = static_cast<unsigned char>(key[size - 1]);
  }
  uint64_t h = (head ^ size) * 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 29) ^ tail) * 0xbf58476d1ce4e5b9u;
  return static_cast<size_t>(h ^ (h >> 32));
}

int FeatureKeys::Find(std::string_view key) const {
  for (size_t slot = Hash(key) & (slots_.size() - 1); slots_[slot] >= 0;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (keys_[static_cast<size_t>(slots_[slot])] == key) return slots_[slot];
  }
  return -1;
}

bool FindFeatures(std::string_view example, const FeatureKeys& keys, std::string_view* found,
                  uint32_t field) {
  WireReader reader(example);
  const uint32_t wanted = WireTag(field, WireType::kLengthDelimited);
  uint32_t tag;
  std::string_view map;
  while (reader.ReadTag(&tag)) {
    if (tag != wanted) {
      if (!reader.Skip(tag)) return false;
    } else if (!reader.ReadBytes(&map) || !FindInMap(map, keys, found)) {
      return false;
    }
  }
  if (!reader.AtEnd()) return false;
  if (!keys.has_repeated()) return true;
  for (int i = 0; i < keys.size(); ++i) found[i] = found[keys.first(i)];
  return true;
}

bool ReadFeature(std::string_view feature, EncodedList* list) {
  *list = {};
  if (feature.empty()) return true;
  WireReader reader(feature);
  uint32_t tag;
  if (!reader.ReadTag(&tag) || WireTypeOf(tag) != WireType::kLengthDelimited) return false;
  const uint32_t field = WireFieldNumber(tag);
  if (field < 1 || field > 3) return false;
  list->kind = static_cast<FeatureKind>(field);
  return reader.ReadBytes(&list->bytes);
}

int64_t CountValues(const EncodedList& list) {
  WireReader reader(list.bytes);
  uint32_t tag;
  std::string_view packed;
  uint64_t number;
  int64_t n = 0;
  while (reader.ReadTag(&tag)) {
    if (tag == kPackedTag) {
      if (!reader.ReadBytes(&packed)) return -1;
      int64_t more = 1;
      if (list.kind == FeatureKind::kFloat) {
        more = packed.size() % 4 == 0 ? static_cast<int64_t>(packed.size() / 4) : -1;
      } else if (list.kind == FeatureKind::kInt64) {
        more = CountVarints(packed);
      }
      if (more < 0) return -1;
      n += more;
    } else if (tag == kFloatTag && list.kind == FeatureKind::kFloat) {
      if (!reader.Skip(tag)) return -1;
      ++n;
    } else if (tag == kIntTag && list.kind == FeatureKind::kInt64) {
      if (!reader.ReadVarint(&number)) return -1;
      ++n;
    } else {
      return -1;
    }
  }
  return reader.AtEnd() ? n : -1;
}

bool ReadValues(const EncodedList& list, float* values) {
  WireReader reader(list.bytes);
  uint32_t tag;
  std::string_view packed;
  while (reader.ReadTag(&tag)) {
    if (tag == kPackedTag) {
      if (!reader.ReadBytes(&packed)) return false;
      if (!packed.empty()) std::memcpy(values, packed.data(), packed.size());
      values += packed.size() / 4;
    } else {
      const size_t at = reader.offset();
      if (!reader.Skip(tag)) return false;
      std::memcpy(values++, list.bytes.data() + at, 4);
    }
  }
  return reader.AtEnd();
}

bool ReadValues(const EncodedList& list, int64_t* values) {
  WireReader reader(list.bytes);
  uint32_t tag;
  std::string_view packed;
  uint64_t number;
  while (reader.ReadTag(&tag)) {
    if (tag == kPackedTag) {
      if (!reader.ReadBytes(&packed)) return false;
      values = ReadVarints(packed, values);
      if (values == nullptr) return false;
    } else {
      if (!reader.ReadVarint(&number)) return false;
      *values++ = static_cast<int64_t>(number);
    }
  }
  return reader.AtEnd();
}

bool FeatureListReader::Next(std::string_view* feature) {
  if (reader_.AtEnd()) return false;
  WireReader ahead = reader_;
  uint32_t tag;
  if (!ahead.ReadTag(&tag) || tag != kEntryTag || !ahead.ReadBytes(feature)) return false;
  reader_ = ahead;
  return true;
}

}  // namespace thalweg
