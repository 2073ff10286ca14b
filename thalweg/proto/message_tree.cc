// SPDX-License-Identifier: Apache-2.0
// What Message does with whole trees: a list of work instead of recursion, because trees may be
// deep.
#include <algorithm>
#include <bit>

#include "thalweg/proto/message.h"

namespace thalweg {

void Message::ClearUnknownFields() {
  std::vector<Message*> todo = {this};
  while (!todo.empty()) {
    Message* message = todo.back();
    todo.pop_back();
    message->DropUnknown();
    for (uint64_t left = message->has_; left != 0; left &= left - 1) {
      const FieldDescriptor& field = message->type_->fields[std::countr_zero(left)];
      if (field.storage != Storage::kMessage) continue;
      if (field.repeated) {
        std::span<Message*> elements = message->Elements<Message*>(field);
        todo.insert(todo.end(), elements.begin(), elements.end());
      } else {
        todo.push_back(message->slot(field).message);
      }
    }
  }
}

void Message::MergeShallow(const Message& other,
                           std::vector<std::pair<Message*, const Message*>>& todo) {
  CHECK(type_ == other.type_ && this != &other);
  for (uint64_t left = other.has_; left != 0; left &= left - 1) {
    const FieldDescriptor& field = type_->fields[std::countr_zero(left)];
    if (!field.repeated) {
      if (field.storage == Storage::kMessage) {
        todo.emplace_back(MutableField(field), other.slot(field).message);
      } else if (field.storage == Storage::kString) {
        SetText(field, arena().Copy(other.GetString(field)));
      } else {
        SetBits(field, other.slot(field).bits);
      }
      continue;
    }
    if (field.map) {
      // Entries are replaced, never merged: the new one has the same key as the old.
      for (const Message* from : other.Messages(field)) {
        Message* to = AddField(field);
        const FieldDescriptor& key = from->type_->fields[0];
        to->has_ = key.bit();
        if (key.storage == Storage::kString) {
          to->text(key) = from->text(key);
        } else {
          to->slot(key) = from->slot(key);
        }
        todo.emplace_back(to, from);
      }
      continue;
    }
    if (field.storage == Storage::kMessage) {
      for (const Message* from : other.Messages(field)) todo.emplace_back(AddField(field), from);
    } else if (field.storage == Storage::kString) {
      for (std::string_view text : other.Repeated<std::string_view>(field)) AddString(field, text);
    } else {
      const size_t element_size = ElementSize(field.storage);
      const RepeatedHeader* from = other.slot(field).repeated;
      std::memcpy(Grow(field, from->size, element_size), from + 1, from->size * element_size);
    }
  }
  if (other.unknown() != nullptr) AppendUnknown(arena().Copy(other.unknown_fields()));
  if ((other.has_ & type_->map_mask) != 0) SortMaps();
}

void Message::MergeFrom(const Message& other) {
  std::vector<std::pair<Message*, const Message*>> todo = {{this, &other}};
  while (!todo.empty()) {
    const auto [to, from] = todo.back();
    todo.pop_back();
    to->MergeShallow(*from, todo);
  }
}

void Message::CopyFrom(const Message& other) {
  if (this == &other) return;
  Clear();
  MergeFrom(other);
}

bool Message::EqualsShallow(const Message& other,
                            std::vector<std::pair<const Message*, const Message*>>& todo) const {
  if (type_ != other.type_ || has_ != other.has_ || unknown_fields() != other.unknown_fields())
    return false;
  for (uint64_t left = has_; left != 0; left &= left - 1) {
    const FieldDescriptor& field = type_->fields[std::countr_zero(left)];
    if (field.repeated && Size(field) != other.Size(field)) return false;
    if (field.storage == Storage::kMessage) {
      if (!field.repeated) {
        todo.emplace_back(slot(field).message, other.slot(field).message);
        continue;
      }
      const auto mine = Messages(field);
      for (size_t i = 0; i < mine.size(); ++i) todo.emplace_back(mine[i], other.Messages(field)[i]);
    } else if (field.storage == Storage::kString) {
      if (!field.repeated) {
        if (GetString(field) != other.GetString(field)) return false;
      } else if (!std::ranges::equal(Repeated<std::string_view>(field),
                                     other.Repeated<std::string_view>(field))) {
        return false;
      }
    } else if (!field.repeated) {
      if (slot(field).bits != other.slot(field).bits) return false;
    } else if (std::memcmp(slot(field).repeated + 1, other.slot(field).repeated + 1,
                           Size(field) * ElementSize(field.storage)) != 0) {
      return false;
    }
  }
  return true;
}

bool Message::Equals(const Message& other) const {
  std::vector<std::pair<const Message*, const Message*>> todo = {{this, &other}};
  while (!todo.empty()) {
    const auto [a, b] = todo.back();
    todo.pop_back();
    if (!a->EqualsShallow(*b, todo)) return false;
  }
  return true;
}

OwnedMessage Clone(const Message& message) {
  OwnedMessage copy(message.type());
  copy->MergeFrom(message);
  return copy;
}

}  // namespace thalweg
