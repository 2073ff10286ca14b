// SPDX-License-Identifier: Apache-2.0
#include "thalweg/proto/message.h"

#include <algorithm>
#include <bit>

namespace thalweg {
namespace {

template <class T>
int Compare(T a, T b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int CompareBits(Storage storage, uint64_t a, uint64_t b) {
  if (storage == Storage::kInt32 || storage == Storage::kInt64) {
    return Compare(static_cast<int64_t>(a), static_cast<int64_t>(b));
  }
  return Compare(a, b);
}

}  // namespace

const FieldDescriptor* Message::WhichOneof(FieldKey member) const {
  const uint64_t set = has_ & Resolve(member).oneof_mask;
  return set == 0 ? nullptr : &type_->fields[std::countr_zero(set)];
}

int64_t Message::GetInt(FieldKey key) const {
  const FieldDescriptor& field = Resolve(key);
  CHECK(!field.repeated && (field.storage == Storage::kInt32 || field.storage == Storage::kInt64));
  return static_cast<int64_t>(GetBits(field));
}

uint64_t Message::GetUint(FieldKey key) const {
  const FieldDescriptor& field = Resolve(key);
  CHECK(!field.repeated &&
        (field.storage == Storage::kUint32 || field.storage == Storage::kUint64));
  return GetBits(field);
}

float Message::GetFloat(FieldKey key) const {
  return std::bit_cast<float>(static_cast<uint32_t>(GetBits(Resolve(key, Storage::kFloat))));
}

double Message::GetDouble(FieldKey key) const {
  return std::bit_cast<double>(GetBits(Resolve(key, Storage::kDouble)));
}

void Message::SetInt(FieldKey key, int64_t value) {
  const FieldDescriptor& field = Resolve(key);
  CHECK(!field.repeated && (field.storage == Storage::kInt32 || field.storage == Storage::kInt64));
  if (field.storage == Storage::kInt32) value = static_cast<int32_t>(value);
  SetBits(field, static_cast<uint64_t>(value));
}

void Message::SetUint(FieldKey key, uint64_t value) {
  const FieldDescriptor& field = Resolve(key);
  CHECK(!field.repeated &&
        (field.storage == Storage::kUint32 || field.storage == Storage::kUint64));
  if (field.storage == Storage::kUint32) value = static_cast<uint32_t>(value);
  SetBits(field, value);
}

void Message::SetFloat(FieldKey key, float value) {
  SetBits(Resolve(key, Storage::kFloat), std::bit_cast<uint32_t>(value));
}

void Message::SetDouble(FieldKey key, double value) {
  SetBits(Resolve(key, Storage::kDouble), std::bit_cast<uint64_t>(value));
}

void Message::SetBorrowed(FieldKey key, std::string_view value) {
  SetText(Resolve(key, Storage::kString), value);
}

char* Message::SetBytes(FieldKey key, size_t size) {
  char* bytes = arena().AllocateBytes(size);
  SetBorrowed(key, {bytes, size});
  return bytes;
}

Message* Message::Mutable(FieldKey key) { return MutableField(Resolve(key, Storage::kMessage)); }

Message* Message::MutableField(const FieldDescriptor& field) {
  if (has(field)) return slot(field).message;
  mark(field);
  Message* made = New(*field.message, &arena());
  slot(field).message = made;
  return made;
}

size_t Message::Size(FieldKey key) const {
  const FieldDescriptor& field = Resolve(key);
  CHECK(field.repeated);
  return has(field) ? slot(field).repeated->size : 0;
}

void* Message::Grow(const FieldDescriptor& field, size_t count, size_t element_size) {
  RepeatedHeader* old = has(field) ? slot(field).repeated : nullptr;
  const size_t old_size = old == nullptr ? 0 : old->size;
  const size_t size = old_size + count;
  RepeatedHeader* header = old;
  if (old == nullptr || size > old->capacity) {
    // Twice the room, so that adding one by one stays cheap; exactly what is asked for at first.
    const size_t capacity =
        old == nullptr ? std::max<size_t>(size, 2) : std::max(size, 2 * old->capacity);
    const size_t bytes = sizeof(RepeatedHeader) + capacity * element_size;
    if (old == nullptr ||
        !arena().TryExtend(old, sizeof(RepeatedHeader) + old->capacity * element_size, bytes)) {
      header = static_cast<RepeatedHeader*>(arena().Allocate(bytes));
      if (old_size != 0) std::memcpy(header + 1, old + 1, old_size * element_size);
    }
    header->capacity = capacity;
    slot(field).repeated = header;
    mark(field);
  }
  header->size = size;
  return reinterpret_cast<char*>(header + 1) + old_size * element_size;
}

Message* Message::AddField(const FieldDescriptor& field) {
  Message* made = New(*field.message, &arena());
  *static_cast<Message**>(Grow(field, 1, sizeof(Message*))) = made;
  return made;
}

Message* Message::Add(FieldKey key) {
  const FieldDescriptor& field = ResolveRepeated(key, Storage::kMessage);
  CHECK(!field.map);
  return AddField(field);
}

void Message::AddInt(FieldKey key, int64_t value) {
  const FieldDescriptor& field = Resolve(key);
  if (field.storage == Storage::kInt64) return Append<int64_t>(field, {&value, 1});
  const int32_t narrow = static_cast<int32_t>(value);
  Append<int32_t>(field, {&narrow, 1});
}

void Message::AddUint(FieldKey key, uint64_t value) {
  const FieldDescriptor& field = Resolve(key);
  if (field.storage == Storage::kUint64) return Append<uint64_t>(field, {&value, 1});
  const uint32_t narrow = static_cast<uint32_t>(value);
  Append<uint32_t>(field, {&narrow, 1});
}

void Message::Erase(FieldKey key, size_t begin, size_t end) {
  const FieldDescriptor& field = Resolve(key);
  CHECK(begin <= end && end <= Size(field));
  if (begin == end) return;
  RepeatedHeader* header = slot(field).repeated;
  const size_t element_size = ElementSize(field.storage);
  char* data = reinterpret_cast<char*>(header + 1);
  std::memmove(data + begin * element_size, data + end * element_size,
               (header->size - end) * element_size);
  header->size -= end - begin;
  if (header->size == 0) has_ &= ~field.bit();
}

const FieldDescriptor& Message::ResolveMap(FieldKey key, MapKey& map_key) const {
  const FieldDescriptor& field = Resolve(key);
  CHECK(field.map);
  const Storage storage = field.message->fields[0].storage;
  CHECK((storage == Storage::kString) == map_key.is_text_);
  if (storage == Storage::kInt32)
    map_key.bits_ = static_cast<uint64_t>(static_cast<int32_t>(map_key.bits_));
  if (storage == Storage::kUint32) map_key.bits_ = static_cast<uint32_t>(map_key.bits_);
  if (storage == Storage::kBool) map_key.bits_ = map_key.bits_ != 0;
  return field;
}

int Message::CompareKeys(const Message& a, const Message& b) {
  const FieldDescriptor& field = a.type_->fields[0];
  if (field.storage == Storage::kString) return a.GetString(field).compare(b.GetString(field));
  return CompareBits(field.storage, a.GetBits(field), b.GetBits(field));
}

int Message::CompareKey(const MapKey& key) const {
  const FieldDescriptor& field = type_->fields[0];
  if (field.storage == Storage::kString) return GetString(field).compare(key.text_);
  return CompareBits(field.storage, GetBits(field), key.bits_);
}

std::span<Message*>::iterator Message::LowerBound(const FieldDescriptor& field,
                                                  const MapKey& key) const {
  std::span<Message*> entries = Elements<Message*>(field);
  return std::lower_bound(
      entries.begin(), entries.end(), key,
      [](const Message* entry, const MapKey& k) { return entry->CompareKey(k) < 0; });
}

const Message* Message::FindEntry(FieldKey key, MapKey map_key) const {
  const FieldDescriptor& field = ResolveMap(key, map_key);
  auto it = LowerBound(field, map_key);
  return it != Elements<Message*>(field).end() && (*it)->CompareKey(map_key) == 0 ? *it : nullptr;
}

Message* Message::MutableEntry(FieldKey key, MapKey map_key) {
  const FieldDescriptor& field = ResolveMap(key, map_key);
  const auto it = LowerBound(field, map_key);
  std::span<Message*> entries = Elements<Message*>(field);
  if (it != entries.end() && (*it)->CompareKey(map_key) == 0) return *it;
  const size_t place = static_cast<size_t>(it - entries.begin());
  Message* entry = AddField(field);
  const FieldDescriptor& key_field = field.message->fields[0];
  if (map_key.is_text_) {
    entry->SetString(key_field, map_key.text_);
  } else {
    entry->SetBits(key_field, map_key.bits_);
  }
  entry->CompleteEntry();
  entries = Elements<Message*>(field);
  std::move_backward(entries.begin() + place, entries.end() - 1, entries.end());
  entries[place] = entry;
  return entry;
}

bool Message::EraseEntry(FieldKey key, MapKey map_key) {
  const FieldDescriptor& field = ResolveMap(key, map_key);
  if (FindEntry(field, map_key) == nullptr) return false;
  const size_t place =
      static_cast<size_t>(LowerBound(field, map_key) - Elements<Message*>(field).begin());
  Erase(field, place, place + 1);
  return true;
}

const Message* Message::MapFind(FieldKey key, MapKey map_key) const {
  const Message* entry = FindEntry(key, map_key);
  return entry == nullptr ? nullptr : &entry->GetMessage(pb::kMapValue);
}

Message* Message::MapMutable(FieldKey key, MapKey map_key) {
  return MutableEntry(key, map_key)->Mutable(pb::kMapValue);
}

void Message::CompleteEntry() {
  for (const FieldDescriptor& field : type_->fields) {
    if (has(field)) continue;
    if (field.storage == Storage::kMessage) {
      MutableField(field);
    } else if (field.storage == Storage::kString) {
      SetText(field, {});
    } else {
      SetBits(field, 0);
    }
  }
}

void Message::SortMap(const FieldDescriptor& field) {
  std::span<Message*> entries = Elements<Message*>(field);
  auto less = [](const Message* a, const Message* b) { return CompareKeys(*a, *b) < 0; };
  if (std::adjacent_find(entries.begin(), entries.end(), [&](const Message* a, const Message* b) {
        return !less(a, b);
      }) == entries.end()) {
    return;
  }
  std::stable_sort(entries.begin(), entries.end(), less);
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && CompareKeys(*entries[i], *entries[i + 1]) == 0) continue;
    entries[kept++] = entries[i];
  }
  slot(field).repeated->size = kept;
}

void Message::SortMaps() {
  has_ &= ~kMapsUnsorted;
  for (uint64_t left = has_ & type_->map_mask; left != 0; left &= left - 1) {
    SortMap(type_->fields[std::countr_zero(left)]);
  }
}

void Message::AppendUnknown(std::string_view bytes) {
  if (bytes.empty()) return;
  if (unknown() == nullptr) {
    auto* made = static_cast<UnknownFields*>(arena().Allocate(sizeof(UnknownFields)));
    *made = {&arena(), bytes.data(), bytes.size(), 0};
    extra_ = reinterpret_cast<uintptr_t>(made) | kHasUnknown;
    return;
  }
  UnknownFields& have = *unknown();
  const bool follows = have.data + have.size == bytes.data();
  if (have.capacity == 0 && follows) {
    have.size += bytes.size();
    return;
  }
  const size_t size = have.size + bytes.size();
  if (size > have.capacity) {
    char* data = arena().AllocateBytes(2 * size);
    std::memcpy(data, have.data, have.size);
    have = {have.arena, data, have.size, 2 * size};
  }
  std::memcpy(const_cast<char*>(have.data) + have.size, bytes.data(), bytes.size());
  have.size = size;
}

std::string_view Message::unknown_fields() const {
  return unknown() == nullptr ? std::string_view()
                              : std::string_view(unknown()->data, unknown()->size);
}

}  // namespace thalweg
