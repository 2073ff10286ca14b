// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/record_text.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "thalweg/io/example_wire.h"
#include "thalweg/proto/json_format.h"
#include "thalweg/proto/json_writer.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr size_t kShownValues = 8;
constexpr size_t kShownBytes = 40;

bool IsFeature(std::string_view feature) {
  EncodedList list;
  return ReadFeature(feature, &list) && CountValues(list) >= 0;
}

bool IsFeatureList(std::string_view list) {
  FeatureListReader reader(list);
  std::string_view feature;
  while (reader.Next(&feature)) {
    if (!IsFeature(feature)) return false;
  }
  return reader.AtEnd();
}

bool IsMap(std::string_view map, bool (*is_value)(std::string_view)) {
  FeatureMapReader reader(map);
  std::string_view key, value;
  while (reader.Next(&key, &value)) {
    if (!is_value(value)) return false;
  }
  return reader.AtEnd();
}

Result<OwnedMessage> ParseRecord(std::string_view record, std::string_view type) {
  const MessageDescriptor* descriptor = &pb::Example::Descriptor();
  if (!type.empty()) {
    descriptor = FindMessageType(type);
    if (descriptor == nullptr) return InvalidArgument("no message type is called '", type, "'");
  } else {
    const ExampleKind kind = KindOfRecord(record);
    if (kind == ExampleKind::kOther) {
      return InvalidArgument(
          "the record is neither an Example nor a SequenceExample; name its type");
    }
    if (kind == ExampleKind::kSequenceExample) descriptor = &pb::SequenceExample::Descriptor();
  }
  Result<OwnedMessage> message = ParseMessage(*descriptor, record, {.borrow = true});
  if (!message.ok()) return message.status().WithContext(StrCat("no ", descriptor->full_name));
  return message;
}

std::string ShortText(std::string_view bytes) {
  std::string text = JsonText(bytes.substr(0, kShownBytes));
  if (bytes.size() > kShownBytes) {
    text.insert(text.size() - 1, "...");
    text += StrCat(" (", bytes.size(), " bytes)");
  }
  return text;
}

template <class T>
std::string NumbersText(const EncodedList& list, int64_t n) {
  std::vector<T> values(static_cast<size_t>(n));
  if (!ReadValues(list, values.data())) return " ?";
  std::string text;
  for (size_t i = 0; i < std::min(values.size(), kShownValues); ++i) {
    text += StrCat(" ", values[i]);
  }
  return text;
}

std::string BytesListText(const EncodedList& list) {
  std::string text;
  BytesReader reader(list);
  std::string_view value;
  for (size_t i = 0; i < kShownValues && reader.Next(&value); ++i) {
    text += StrCat(" ", ShortText(value));
  }
  return text;
}

constexpr const char* kKindNames[] = {"none", "bytes", "float", "int64"};

// "int64[3] 1 2 3"
std::string FeatureText(std::string_view feature) {
  EncodedList list;
  if (!ReadFeature(feature, &list)) return "?";
  const int64_t n = CountValues(list);
  std::string text = StrCat(kKindNames[static_cast<size_t>(list.kind)], "[", n, "]");
  switch (list.kind) {
    case FeatureKind::kBytes:
      text += BytesListText(list);
      break;
    case FeatureKind::kFloat:
      text += NumbersText<float>(list, n);
      break;
    case FeatureKind::kInt64:
      text += NumbersText<int64_t>(list, n);
      break;
    case FeatureKind::kNone:
      break;
  }
  return n > static_cast<int64_t>(kShownValues) ? text + " ..." : text;
}

using OutlineRows = std::vector<std::pair<std::string, std::string>>;

void OutlineMap(std::string_view map, bool are_lists, OutlineRows& rows) {
  FeatureMapReader reader(map);
  std::string_view key, value;
  while (reader.Next(&key, &value)) {
    std::string name = JsonText(key);
    name = name.substr(1, name.size() - 2);
    if (!are_lists) {
      rows.emplace_back(std::move(name), FeatureText(value));
      continue;
    }
    FeatureListReader list(value);
    std::string_view feature, first;
    int64_t steps = 0;
    while (list.Next(&feature)) {
      if (steps++ == 0) first = feature;
    }
    rows.emplace_back(std::move(name), StrCat(steps, steps == 1 ? " step" : " steps",
                                              steps == 0 ? "" : ": " + FeatureText(first),
                                              steps > 1 ? ", ..." : ""));
  }
}

std::string HexText(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, kShownBytes)) {
    char hex[4];
    std::snprintf(hex, sizeof(hex), "%02x ", static_cast<unsigned>(static_cast<uint8_t>(c)));
    text += hex;
  }
  return bytes.size() > kShownBytes ? text + "..." : text;
}

}  // namespace

ExampleKind KindOfRecord(std::string_view record) {
  constexpr uint32_t kFeatures = WireTag(kFeaturesField, WireType::kLengthDelimited);
  constexpr uint32_t kLists = WireTag(kFeatureListsField, WireType::kLengthDelimited);
  ExampleKind kind = ExampleKind::kExample;
  WireReader reader(record);
  uint32_t tag;
  std::string_view part;
  while (reader.ReadTag(&tag)) {
    if ((tag != kFeatures && tag != kLists) || !reader.ReadBytes(&part)) return ExampleKind::kOther;
    if (!IsMap(part, tag == kLists ? IsFeatureList : IsFeature)) return ExampleKind::kOther;
    if (tag == kLists) kind = ExampleKind::kSequenceExample;
  }
  return reader.AtEnd() ? kind : ExampleKind::kOther;
}

Result<std::string> RecordJson(std::string_view record, std::string_view type) {
  ASSIGN_OR_RETURN(const OwnedMessage message, ParseRecord(record, type));
  return PrintJson(*message);
}

Result<std::string> RecordText(std::string_view record, std::string_view type) {
  ASSIGN_OR_RETURN(const OwnedMessage message, ParseRecord(record, type));
  return PrintText(*message);
}

std::string RecordOutline(std::string_view record) {
  if (KindOfRecord(record) == ExampleKind::kOther) return StrCat("  ", HexText(record), "\n");
  OutlineRows rows;
  WireReader reader(record);
  uint32_t tag;
  std::string_view part;
  while (reader.ReadTag(&tag) && reader.ReadBytes(&part)) {
    OutlineMap(part, WireFieldNumber(tag) == kFeatureListsField, rows);
  }
  size_t width = 0;
  for (const auto& [name, text] : rows) width = std::max(width, name.size());
  std::string outline;
  for (const auto& [name, text] : rows) {
    outline += StrCat("  ", name, std::string(width - name.size() + 2, ' '), text, "\n");
  }
  return outline;
}

}  // namespace thalweg
