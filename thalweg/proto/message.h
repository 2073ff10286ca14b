// SPDX-License-Identifier: Apache-2.0
// Message: the one class of all protocol messages; its type is a table (descriptor.h). Field
// numbers come from messages.h.
//
//   OwnedMessage graph(pb::GraphDef::Descriptor());
//   Message* node = graph->Add(pb::GraphDef::kNode);
//   node->SetString(pb::NodeDef::kName, "a");
//   node->MapMutable(pb::NodeDef::kAttr, "T")
//       ->SetInt(pb::AttrValue::kType, pb::DataType::DT_FLOAT);
//   for (const Message* n : graph->Messages(pb::GraphDef::kNode)) {
//     Use(n->GetString(pb::NodeDef::kName));
//   }
//
// Fields: named by number, or by descriptor for code that does not know the type. Getters of an
// absent field give the proto3 default. Setting a member of a oneof clears the others. A zero in a
// field without presence means absent.
// Maps: entries (kMapKey, kMapValue) always sorted by key and unique. Random insertion is linear,
// lookup logarithmic.
// Ownership: an OwnedMessage owns the whole tree. Sub-messages, strings and spans lie in its arena:
// replaced or cleared values stay valid (and keep their memory) until the tree goes; spans die when
// their field grows.
// Threads: const members from any; changes by one at a time for the whole tree.
// Errors: a field number or type that the message does not have is a bug of the caller and CHECKed.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "thalweg/base/check.h"
#include "thalweg/proto/arena.h"
#include "thalweg/proto/descriptor.h"
#include "thalweg/proto/messages.h"

namespace thalweg {

// Which field: its number or its descriptor.
class FieldKey {
 public:
  FieldKey(int number) : number_(static_cast<uint32_t>(number)) {}  // NOLINT: implicit by design
  FieldKey(const FieldDescriptor& field) : field_(&field) {}        // NOLINT: implicit by design

 private:
  friend class Message;
  const FieldDescriptor* field_ = nullptr;
  uint32_t number_ = 0;
};

// Key of a map entry: text, or an integer or bool of any width.
class MapKey {
 public:
  MapKey(std::string_view text) : text_(text), is_text_(true) {}       // NOLINT: implicit by design
  MapKey(const char* text) : MapKey(std::string_view(text)) {}         // NOLINT
  MapKey(const std::string& text) : MapKey(std::string_view(text)) {}  // NOLINT
  template <class T>
  requires std::is_integral_v<T> MapKey(T value) : bits_(static_cast<uint64_t>(value)) {}  // NOLINT

 private:
  friend class Message;
  std::string_view text_;
  uint64_t bits_ = 0;
  bool is_text_ = false;
};

class Message {
 public:
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  const MessageDescriptor& type() const { return *type_; }

  // Repeated and map fields: whether there is an element.
  bool Has(FieldKey key) const { return (has_ & Resolve(key).bit()) != 0; }
  void Clear(FieldKey key) { has_ &= ~Resolve(key).bit(); }
  void Clear() {
    has_ = 0;
    DropUnknown();
  }
  // The set member of the oneof that `member` belongs to, or null.
  const FieldDescriptor* WhichOneof(FieldKey member) const;

  // Singular fields.
  int64_t GetInt(FieldKey key) const;    // int32, int64, sint, sfixed, enum
  uint64_t GetUint(FieldKey key) const;  // uint32, uint64, fixed
  bool GetBool(FieldKey key) const { return GetBits(Resolve(key, Storage::kBool)) != 0; }
  float GetFloat(FieldKey key) const;
  double GetDouble(FieldKey key) const;
  std::string_view GetString(FieldKey key) const;  // string and bytes
  const Message& GetMessage(FieldKey key) const;   // an empty one when absent
  const Message* FindMessage(FieldKey key) const;  // null when absent

  // A value too wide for a 32-bit field loses its upper bits, as in a C++ conversion.
  void SetInt(FieldKey key, int64_t value);
  void SetUint(FieldKey key, uint64_t value);
  void SetBool(FieldKey key, bool value) { SetBits(Resolve(key, Storage::kBool), value); }
  void SetFloat(FieldKey key, float value);
  void SetDouble(FieldKey key, double value);
  void SetString(FieldKey key, std::string_view value) { SetBorrowed(key, arena().Copy(value)); }
  // Keeps the view: the bytes must outlive the whole tree.
  void SetBorrowed(FieldKey key, std::string_view value);
  // Sets a string of this size and gives its bytes, to be written by the caller.
  char* SetBytes(FieldKey key, size_t size);
  Message* Mutable(FieldKey key);  // made when absent

  // Repeated fields. T: int32_t (also enums), int64_t, uint32_t, uint64_t, float, double, bool,
  // std::string_view.
  size_t Size(FieldKey key) const;
  template <class T>
  std::span<const T> Repeated(FieldKey key) const;
  template <class T>
  std::span<T> MutableRepeated(FieldKey key);
  std::span<const Message* const> Messages(FieldKey key) const;  // entries, of a map
  std::span<Message* const> MutableMessages(FieldKey key);       // keys of map entries must stay

  Message* Add(FieldKey key);
  void AddInt(FieldKey key, int64_t value);
  void AddUint(FieldKey key, uint64_t value);
  void AddBool(FieldKey key, bool value) { Append<bool>(key, {&value, 1}); }
  void AddFloat(FieldKey key, float value) { Append<float>(key, {&value, 1}); }
  void AddDouble(FieldKey key, double value) { Append<double>(key, {&value, 1}); }
  void AddString(FieldKey key, std::string_view value) { AddBorrowed(key, arena().Copy(value)); }
  void AddBorrowed(FieldKey key, std::string_view value) {
    Append<std::string_view>(key, {&value, 1});
  }
  // Adds values; strings are borrowed. An empty span adds nothing.
  template <class T>
  void Append(FieldKey key, std::span<const T> values);
  // Removes elements [begin, end).
  void Erase(FieldKey key, size_t begin, size_t end);

  // Maps.
  const Message* FindEntry(FieldKey key, MapKey map_key) const;  // null when absent
  Message* MutableEntry(FieldKey key, MapKey map_key);           // made when absent
  bool EraseEntry(FieldKey key, MapKey map_key);                 // whether it was there
  // Maps to messages: the value.
  const Message* MapFind(FieldKey key, MapKey map_key) const;
  Message* MapMutable(FieldKey key, MapKey map_key);

  // Whole messages. Types must be equal.
  void MergeFrom(
      const Message& other);  // singular fields replaced, messages merged, repeated appended
  void CopyFrom(const Message& other);
  // Same fields with the same bits (so NaN equals itself) and the same unknown fields.
  bool Equals(const Message& other) const;

  // Fields that the table does not list, as they were on the wire.
  std::string_view unknown_fields() const;
  // Also those of all sub-messages.
  void ClearUnknownFields();

  Arena& arena() {
    return *((extra_ & kHasUnknown) != 0 ? unknown()->arena : reinterpret_cast<Arena*>(extra_));
  }

 private:
  friend class OwnedMessage;
  friend class WireParser;
  friend class TextParser;
  friend struct DefaultInstances;
  friend class WireEncoder;

  struct RepeatedHeader {  // the elements follow
    size_t size;
    size_t capacity;
  };
  struct UnknownFields {
    Arena* arena;
    const char* data;
    size_t size;
    size_t capacity;  // 0: borrowed
  };
  struct Text {
    const char* data;
    size_t size;
  };
  union Slot {
    uint64_t bits;
    Message* message;
    RepeatedHeader* repeated;
  };
  // A bit of has_ that no field uses: entries were added and not yet sorted.
  static constexpr uint64_t kMapsUnsorted = uint64_t{1} << 63;
  // In extra_: it points to the unknown fields, not to the arena.
  static constexpr uintptr_t kHasUnknown = 1;

  explicit constexpr Message(const MessageDescriptor* type) : type_(type) {}
  Message(const MessageDescriptor* type, Arena* arena)
      : type_(type), extra_(reinterpret_cast<uintptr_t>(arena)) {}
  static Message* New(const MessageDescriptor& type, Arena* arena) {
    void* memory = arena->Allocate(sizeof(Message) + type.body_size);
    return new (memory) Message(&type, arena);
  }

  // The value of a field that is set; a string has a text, everything else a slot.
  Slot& slot(const FieldDescriptor& field) const {
    return *reinterpret_cast<Slot*>(body() + field.offset);
  }
  Text& text(const FieldDescriptor& field) const {
    return *reinterpret_cast<Text*>(body() + field.offset);
  }
  char* body() const { return const_cast<char*>(reinterpret_cast<const char*>(this + 1)); }
  bool has(const FieldDescriptor& field) const { return (has_ & field.bit()) != 0; }
  void mark(const FieldDescriptor& field) { has_ = (has_ & ~field.oneof_mask) | field.bit(); }

  const FieldDescriptor& Resolve(FieldKey key) const {
    const FieldDescriptor* field = key.field_;
    if (field == nullptr) field = type_->FindByNumber(key.number_);
    CHECK(field != nullptr && field->parent == type_);
    return *field;
  }
  const FieldDescriptor& Resolve(FieldKey key, Storage storage) const {
    const FieldDescriptor& field = Resolve(key);
    CHECK(field.storage == storage && !field.repeated);
    return field;
  }
  const FieldDescriptor& ResolveRepeated(FieldKey key, Storage storage) const {
    const FieldDescriptor& field = Resolve(key);
    CHECK(field.storage == storage && field.repeated);
    return field;
  }
  // Also narrows the key to the width of the field.
  const FieldDescriptor& ResolveMap(FieldKey key, MapKey& map_key) const;

  uint64_t GetBits(const FieldDescriptor& field) const { return has(field) ? slot(field).bits : 0; }
  void SetBits(const FieldDescriptor& field, uint64_t bits) {
    mark(field);
    slot(field).bits = bits;
    if (bits == 0 && !field.presence) has_ &= ~field.bit();
  }
  void SetText(const FieldDescriptor& field, std::string_view value) {
    mark(field);
    text(field) = {value.data(), value.size()};
    if (value.empty() && !field.presence) has_ &= ~field.bit();
  }
  Message* MutableField(const FieldDescriptor& field);
  Message* AddField(const FieldDescriptor& field);  // a map entry comes without key and value
  // Space for `count` more elements, counted as present; the caller writes them.
  void* Grow(const FieldDescriptor& field, size_t count, size_t element_size);
  template <class T>
  std::span<T> Elements(const FieldDescriptor& field) const {
    if (!has(field)) return {};
    RepeatedHeader* header = slot(field).repeated;
    return {reinterpret_cast<T*>(header + 1), header->size};
  }

  UnknownFields* unknown() const {
    return (extra_ & kHasUnknown) == 0 ? nullptr
                                       : reinterpret_cast<UnknownFields*>(extra_ - kHasUnknown);
  }
  void DropUnknown() { extra_ = reinterpret_cast<uintptr_t>(&arena()); }
  void AppendUnknown(std::string_view bytes);
  // A parsed entry may lack key or value: gives it their defaults.
  void CompleteEntry();
  // Orders the entries by key; of equal keys the last stays.
  void SortMap(const FieldDescriptor& field);
  void SortMaps();
  void MergeShallow(const Message& other, std::vector<std::pair<Message*, const Message*>>& todo);
  bool EqualsShallow(const Message& other,
                     std::vector<std::pair<const Message*, const Message*>>& todo) const;
  static int CompareKeys(const Message& a, const Message& b);
  int CompareKey(const MapKey& key) const;
  std::span<Message*>::iterator LowerBound(const FieldDescriptor& field, const MapKey& key) const;

  const MessageDescriptor* type_;
  uintptr_t extra_ = 0;  // the arena, or the unknown fields, which know it; 0 in a default instance
  uint64_t has_ = 0;
};

// A message and the memory of its whole tree. Empty after a move.
class OwnedMessage {
 public:
  OwnedMessage() = default;
  explicit OwnedMessage(const MessageDescriptor& type)
      : arena_(std::make_unique<Arena>()), message_(Message::New(type, arena_.get())) {}
  OwnedMessage(OwnedMessage&& other) noexcept
      : arena_(std::move(other.arena_)), message_(std::exchange(other.message_, nullptr)) {}
  OwnedMessage& operator=(OwnedMessage&& other) noexcept {
    message_ = std::exchange(other.message_, nullptr);
    arena_ = std::move(other.arena_);
    return *this;
  }

  explicit operator bool() const { return message_ != nullptr; }
  Message* get() const { return message_; }
  Message& operator*() const { return *message_; }
  Message* operator->() const { return message_; }

 private:
  std::unique_ptr<Arena> arena_;
  Message* message_ = nullptr;
};

// A copy with memory of its own.
OwnedMessage Clone(const Message& message);

template <class T>
constexpr Storage StorageOf() {
  if constexpr (std::is_same_v<T, int32_t>) return Storage::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return Storage::kInt64;
  if constexpr (std::is_same_v<T, uint32_t>) return Storage::kUint32;
  if constexpr (std::is_same_v<T, uint64_t>) return Storage::kUint64;
  if constexpr (std::is_same_v<T, float>) return Storage::kFloat;
  if constexpr (std::is_same_v<T, double>) return Storage::kDouble;
  if constexpr (std::is_same_v<T, bool>) return Storage::kBool;
  if constexpr (std::is_same_v<T, std::string_view>) return Storage::kString;
}

template <class T>
std::span<const T> Message::Repeated(FieldKey key) const {
  return Elements<const T>(ResolveRepeated(key, StorageOf<T>()));
}

template <class T>
std::span<T> Message::MutableRepeated(FieldKey key) {
  return Elements<T>(ResolveRepeated(key, StorageOf<T>()));
}

template <class T>
void Message::Append(FieldKey key, std::span<const T> values) {
  const FieldDescriptor& field = ResolveRepeated(key, StorageOf<T>());
  if (values.empty()) return;
  std::memcpy(Grow(field, values.size(), sizeof(T)), values.data(), values.size_bytes());
}

inline std::string_view Message::GetString(FieldKey key) const {
  const FieldDescriptor& field = Resolve(key, Storage::kString);
  if (!has(field)) return {};
  return {text(field).data, text(field).size};
}

inline const Message* Message::FindMessage(FieldKey key) const {
  const FieldDescriptor& field = Resolve(key, Storage::kMessage);
  return has(field) ? slot(field).message : nullptr;
}

inline const Message& Message::GetMessage(FieldKey key) const {
  const FieldDescriptor& field = Resolve(key, Storage::kMessage);
  return has(field) ? *slot(field).message : *field.message->default_instance;
}

inline std::span<const Message* const> Message::Messages(FieldKey key) const {
  return Elements<const Message* const>(ResolveRepeated(key, Storage::kMessage));
}

inline std::span<Message* const> Message::MutableMessages(FieldKey key) {
  return Elements<Message* const>(ResolveRepeated(key, Storage::kMessage));
}

}  // namespace thalweg
