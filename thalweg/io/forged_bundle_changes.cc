// SPDX-License-Identifier: Apache-2.0
// Changes of the bytes that a ForgedBundle is made of: of one number of a block, of one number of
// an entry, of a row, of the data, or blind ones.
#include <algorithm>
#include <vector>

#include "thalweg/io/fixed_int.h"
#include "thalweg/io/test_forged_bundle.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

constexpr size_t kMostBytes = 65535;  // what two bytes of length can say

class Changer {
 public:
  Changer(std::minstd_rand& random, ChangeBytes change_bytes)
      : random_(random), change_bytes_(change_bytes) {}

  std::string Blind(std::string bytes, size_t limit) const {
    const size_t size = bytes.size();
    bytes.resize(std::max(limit, size));
    bytes.resize(change_bytes_(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
    return bytes;
  }
  // Changes the rows of an index, each a key and a value with a length byte before it.
  std::string Rows(std::string_view bytes);
  // One of the numbers before the entries of a block, or its last four bytes.
  std::string Block(std::string bytes);
  size_t Below(size_t n) { return random_() % n; }

 private:
  // One that lies where mistakes are made. `edge`: what the number must not exceed.
  uint64_t Number(uint64_t was, uint64_t edge);
  void ReplaceVarint(std::string& bytes, size_t at, uint64_t edge);
  std::string Entry(std::string_view value);
  static void CollectNumbers(Message& message,
                             std::vector<std::pair<Message*, const FieldDescriptor*>>* numbers);

  std::minstd_rand& random_;
  const ChangeBytes change_bytes_;
};

uint64_t Changer::Number(uint64_t was, uint64_t edge) {
  switch (Below(16)) {
    case 0:
      return was + 1;
    case 1:
      return was - 1;
    case 2:
      return was * 2;
    case 3:
      return was / 2;
    case 4:
      return edge;
    case 5:
    case 6:
      return edge + 1;
    case 7:
      return edge - 1;
    case 8:
      return 0;
    case 9:
      return uint64_t{1} << Below(64);
    case 10:
      return (uint64_t{1} << Below(64)) - 1;
    case 11:
      return ~uint64_t{0} << Below(64);
    default:
      return Below(32);  // also every element type
  }
}

void Changer::ReplaceVarint(std::string& bytes, size_t at, uint64_t edge) {
  WireReader reader(std::string_view(bytes).substr(at));
  uint64_t was = 0;
  if (!reader.ReadVarint(&was)) return;
  std::string now;
  AppendVarint(now, Number(was, edge));
  bytes.replace(at, reader.offset(), now);
}

void Changer::CollectNumbers(Message& message,
                             std::vector<std::pair<Message*, const FieldDescriptor*>>* numbers) {
  for (const FieldDescriptor& field : message.type().fields) {
    const bool is_number = field.storage == Storage::kInt32 || field.storage == Storage::kInt64;
    if (is_number && !field.repeated) numbers->emplace_back(&message, &field);
    if (field.storage != Storage::kMessage || !message.Has(field)) continue;
    if (!field.repeated) {
      CollectNumbers(*message.Mutable(field), numbers);
    } else {
      for (Message* part : message.MutableMessages(field)) CollectNumbers(*part, numbers);
    }
  }
}

std::string Changer::Entry(std::string_view value) {
  Result<OwnedMessage> entry = ParseMessage(pb::BundleEntryProto::Descriptor(), value);
  if (!entry.ok()) return std::string(value);
  std::vector<std::pair<Message*, const FieldDescriptor*>> numbers;
  CollectNumbers(**entry, &numbers);
  const auto [message, field] = numbers[Below(numbers.size())];
  const auto was = static_cast<uint64_t>(message->GetInt(*field));
  const auto edge = static_cast<uint64_t>((*entry)->GetInt(pb::BundleEntryProto::kSize));
  message->SetInt(*field, static_cast<int64_t>(Number(was, edge)));
  Result<std::string> written = Serialize(**entry);
  return written.ok() ? *std::move(written) : std::string(value);
}

std::string Changer::Rows(std::string_view bytes) {
  std::vector<std::string> parts;  // key, value, key, value
  for (std::string_view rest = bytes; !rest.empty();) {
    const size_t n = std::min<size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 1);
    parts.emplace_back(rest.substr(1, n));
    rest.remove_prefix(1 + n);
  }
  if (parts.size() < 2) return Blind(std::string(bytes), bytes.size() + 16);
  const size_t rows = parts.size() / 2;
  const size_t row = Below(rows) * 2;
  switch (Below(8)) {
    case 0:
      parts[row] = Blind(parts[row], 255);
      break;
    case 1:
      parts[row + 1] = Blind(parts[row + 1], 255);
      break;
    case 2:  // the value of another
      parts[row + 1] = parts[Below(rows) * 2 + 1];
      break;
    default:
      parts[row + 1] = Entry(parts[row + 1]);
  }
  std::string out;
  for (const std::string& part : parts) {
    const size_t n = std::min<size_t>(part.size(), 255);
    out.push_back(static_cast<char>(n));
    out.append(part, 0, n);
  }
  return out;
}

std::string Changer::Block(std::string bytes) {
  if (bytes.size() < 4) return bytes;
  struct Place {
    size_t at;
    uint64_t edge;
  };
  std::vector<Place> places;
  const size_t restarts = LoadFixed32(bytes.data() + bytes.size() - 4);
  const size_t end = bytes.size() - std::min(bytes.size(), 4 + restarts * 4);
  for (size_t position = 0; position < end;) {
    WireReader reader(std::string_view(bytes).substr(position, end - position));
    size_t at[3];
    uint64_t shared = 0, unshared = 0, size = 0;
    at[0] = position;
    if (!reader.ReadVarint(&shared)) break;
    at[1] = position + reader.offset();
    if (!reader.ReadVarint(&unshared)) break;
    at[2] = position + reader.offset();
    if (!reader.ReadVarint(&size)) break;
    const uint64_t left = reader.remaining();
    places.insert(places.end(), {{at[0], unshared}, {at[1], left}, {at[2], left - unshared}});
    if (unshared > left || size > left - unshared) break;
    position += reader.offset() + unshared + size;
  }
  if (places.empty() || Below(8) == 0) {
    const auto count = static_cast<uint32_t>(Number(restarts, bytes.size() / 4));
    bytes.resize(bytes.size() - 4);
    AppendFixed32(bytes, count);
    return bytes;
  }
  const Place place = places[Below(places.size())];
  ReplaceVarint(bytes, place.at, place.edge);
  return bytes;
}

}  // namespace

std::string ChangeForgedBundle(std::string_view input, std::minstd_rand& random,
                               ChangeBytes change_bytes) {
  Changer changer(random, change_bytes);
  if (input.size() < 3 || changer.Below(8) == 0) {
    return changer.Blind(std::string(input), input.size() + 64);
  }
  const std::string_view rest = input.substr(3);
  const size_t length = static_cast<uint8_t>(input[1]) | size_t{static_cast<uint8_t>(input[2])}
                                                             << 8;
  std::string part(rest.substr(0, length));
  std::string data(rest.substr(part.size()));
  const int form = input[0] & 3;
  if (changer.Below(8) == 0) {
    data = changer.Blind(data, data.size() + 16);
  } else if (form == 1) {
    part = changer.Rows(part);
  } else if (form == 2 && changer.Below(4) != 0) {
    part = changer.Block(part);
  } else {
    part = changer.Blind(part, part.size() + 16);
  }
  part.resize(std::min(part.size(), kMostBytes));
  std::string out(1, input[0]);
  out.push_back(static_cast<char>(part.size() & 0xff));
  out.push_back(static_cast<char>(part.size() >> 8));
  return out + part + data;
}

}  // namespace thalweg
