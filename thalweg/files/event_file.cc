// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/event_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "thalweg/files/record_files.h"
#include "thalweg/files/tensor_elements.h"
#include "thalweg/io/file_parts.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

using VisitEventFn = std::function<void(const EventValue&)>;

constexpr uint32_t Bytes(int field) {
  return WireTag(static_cast<uint32_t>(field), WireType::kLengthDelimited);
}

// The name of the plugin in a SummaryMetadata.
std::string_view PluginOf(std::string_view metadata) {
  std::string_view plugin;
  WireReader reader(metadata);
  uint32_t tag;
  std::string_view data;
  while (reader.ReadTag(&tag)) {
    if (tag != Bytes(pb::SummaryMetadata::kPluginData)) {
      if (!reader.Skip(tag)) break;
      continue;
    }
    if (!reader.ReadBytes(&data)) break;
    WireReader inner(data);
    while (inner.ReadTag(&tag)) {
      const bool is_name = tag == Bytes(pb::SummaryMetadata::PluginData::kPluginName);
      if (is_name ? !inner.ReadBytes(&plugin) : !inner.Skip(tag)) break;
    }
  }
  return plugin;
}

// A Summary.Value into `value`; false: it is none.
bool ReadValue(std::string_view bytes, EventValue& value) {
  namespace V = pb::Summary::Value;
  value.tag = value.plugin = value.tensor = {};
  value.kind = EventKind::kTensor;
  WireReader reader(bytes);
  uint32_t tag;
  std::string_view part;
  while (reader.ReadTag(&tag)) {
    if (tag == WireTag(V::kSimpleValue, WireType::kFixed32)) {
      uint32_t bits;
      if (!reader.ReadFixed32(&bits)) return false;
      value.kind = EventKind::kScalar;
      value.scalar = static_cast<double>(std::bit_cast<float>(bits));
      continue;
    }
    if (WireTypeOf(tag) != WireType::kLengthDelimited) {
      if (!reader.Skip(tag)) return false;
      continue;
    }
    if (!reader.ReadBytes(&part)) return false;
    switch (WireFieldNumber(tag)) {
      case V::kTag:
        value.tag = part;
        break;
      case V::kMetadata:
        value.plugin = PluginOf(part);
        break;
      case V::kTensor:
        value.kind = EventKind::kTensor;
        value.tensor = part;
        break;
      case V::kImage:
        value.kind = EventKind::kImage;
        break;
      case V::kHisto:
        value.kind = EventKind::kHistogram;
        break;
      case V::kAudio:
        value.kind = EventKind::kAudio;
        break;
      default:
        break;
    }
  }
  return reader.AtEnd();
}

bool ReadSummary(std::string_view summary, EventValue& value, const VisitEventFn& visit) {
  WireReader reader(summary);
  uint32_t tag;
  std::string_view bytes;
  while (reader.ReadTag(&tag)) {
    if (tag != Bytes(pb::Summary::kValue)) {
      if (!reader.Skip(tag)) return false;
      continue;
    }
    if (!reader.ReadBytes(&bytes) || !ReadValue(bytes, value)) return false;
    visit(value);
  }
  return reader.AtEnd();
}

// Step and time may stand behind what they belong to.
bool ReadEvent(std::string_view event, const VisitEventFn& visit) {
  namespace E = pb::Event;
  EventValue value;
  std::string_view summary, part;
  bool has_summary = false, has_other = false;
  WireReader reader(event);
  uint32_t tag;
  while (reader.ReadTag(&tag)) {
    if (tag == WireTag(E::kWallTime, WireType::kFixed64)) {
      uint64_t bits;
      if (!reader.ReadFixed64(&bits)) return false;
      value.wall_time = std::bit_cast<double>(bits);
    } else if (tag == WireTag(E::kStep, WireType::kVarint)) {
      uint64_t step;
      if (!reader.ReadVarint(&step)) return false;
      value.step = static_cast<int64_t>(step);
    } else if (tag == Bytes(E::kSummary)) {
      if (!reader.ReadBytes(&summary)) return false;
      has_summary = true;
    } else if (WireTypeOf(tag) == WireType::kLengthDelimited) {
      if (!reader.ReadBytes(&part)) return false;
      constexpr EventKind kKinds[] = {EventKind::kGraph,       EventKind::kTensor,
                                      EventKind::kLog,         EventKind::kSession,
                                      EventKind::kRunMetadata, EventKind::kMetaGraph};
      const uint32_t field = WireFieldNumber(tag);
      if (field < E::kGraphDef || field > E::kMetaGraphDef) continue;
      value.kind = kKinds[field - E::kGraphDef];
      has_other = true;
      if (field == E::kTaggedRunMetadata) {
        WireReader inner(part);
        if (inner.ReadTag(&tag) && tag == Bytes(pb::TaggedRunMetadata::kTag)) {
          inner.ReadBytes(&value.tag);
        }
      }
    } else if (!reader.Skip(tag)) {
      return false;
    }
  }
  if (!reader.AtEnd()) return false;
  if (has_other) visit(value);
  return !has_summary || ReadSummary(summary, value, visit);
}

// Whether a whole record begins here that the file has not yet.
bool EndsWithin(BlockFile& file) {
  const Result<std::string_view> ahead = file.Ahead(kRecordHeaderBytes);
  if (!ahead.ok()) return false;
  if (ahead->size() < kRecordHeaderBytes) return true;
  const Result<uint64_t> length = RecordLength(ahead->substr(0, kRecordHeaderBytes), 0);
  const Result<std::optional<uint64_t>> size = file.Size();
  return length.ok() && size.ok() && *size &&
         **size - file.offset() < *length + kRecordHeaderBytes + kRecordFooterBytes;
}

Status FindInFolder(FileSystem& fs, const std::string& folder, const std::string& run, int depth,
                    std::vector<EventFile>& found) {
  constexpr int kMostFolders = 64;  // one in the other: links may lead in circles
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(folder));
  for (const std::string& name : names) {
    const std::string path = StrCat(folder, "/", name);
    const Result<FileInfo> info = fs.Stat(path);
    if (!info.ok()) continue;  // gone meanwhile
    if (info->is_directory) {
      if (depth >= kMostFolders) continue;
      RETURN_IF_ERROR(
          FindInFolder(fs, path, run == "." ? name : StrCat(run, "/", name), depth + 1, found));
    } else if (name.find("tfevents") != std::string::npos) {
      found.push_back({run, path, info->size});
    }
  }
  return OkStatus();
}

}  // namespace

std::string_view EventKindName(EventKind kind) {
  constexpr std::string_view kNames[] = {"scalar", "image",     "histogram",    "audio",   "tensor",
                                         "graph",  "metagraph", "run_metadata", "session", "log"};
  return kNames[static_cast<size_t>(kind)];
}

bool ScalarOfTensor(std::string_view tensor, double* scalar) {
  namespace T = pb::TensorProto;
  // Nearly all of them are a float, in one of two forms.
  WireReader reader(tensor);
  uint32_t tag;
  uint64_t dtype = 0;
  std::string_view bytes, part;
  uint32_t bits = 0;
  bool has_value = false, is_plain = true;
  while (is_plain && reader.ReadTag(&tag)) {
    if (tag == WireTag(T::kDtype, WireType::kVarint)) {
      is_plain = reader.ReadVarint(&dtype);
    } else if (tag == WireTag(T::kFloatVal, WireType::kFixed32)) {
      is_plain = reader.ReadFixed32(&bits);
      has_value = true;
    } else if (tag == Bytes(T::kFloatVal) || tag == Bytes(T::kTensorContent)) {
      is_plain = reader.ReadBytes(&bytes) && bytes.size() == sizeof(bits);
      if (is_plain) std::memcpy(&bits, bytes.data(), sizeof(bits));
      has_value = true;
    } else if (tag == Bytes(T::kTensorShape)) {
      is_plain = reader.ReadBytes(&part) && part.empty();
    } else {
      is_plain = false;
    }
  }
  if (is_plain && has_value && reader.AtEnd() && dtype == static_cast<int>(DType::kFloat)) {
    *scalar = static_cast<double>(std::bit_cast<float>(bits));
    return true;
  }
  const Result<OwnedMessage> message =
      ParseMessage(pb::TensorProto::Descriptor(), tensor, {.borrow = true});
  if (!message.ok()) return false;
  size_t claim = 4096;  // one number
  const Result<Tensor> value = TensorFromProto(**message, {.claim_budget = &claim});
  if (!value.ok() || value->num_elements() != 1) return false;
  const std::optional<double> number = ElementNumber(*value, 0);
  if (number) *scalar = *number;
  return number.has_value();
}

Status ReadEvents(FileSystem& fs, const std::string& path, Progress& progress,
                  EventProblem* problem, const VisitEventFn& visit) {
  ASSIGN_OR_RETURN(BlockFile file, OpenRecordFile(fs, path));
  const auto make_room = [](uint64_t bytes) {
    if (bytes <= RecordFiles::kMostBytes) return OkStatus();
    return DataLoss("no Event has ", bytes, " bytes");
  };
  while (true) {
    const uint64_t at = file.offset();
    const Result<std::optional<std::string_view>> event = NextRecord(file, make_room);
    if (!event.ok() && event.status().code() != Code::kDataLoss) return event.status();
    if (!event.ok() || !*event) {
      if (event.ok() && file.Ready().empty()) return OkStatus();
      problem->is_growing = EndsWithin(file);
      problem->message = problem->is_growing ? StrCat(path, ": ends within the record at ", at)
                                             : std::string(event.status().message());
      return OkStatus();
    }
    if (!ReadEvent(**event, visit)) {
      *problem = {StrCat(path, ": the record at ", at, " is no Event")};
      return OkStatus();
    }
    RETURN_IF_ERROR(progress.Add(RecordFiles::StoredBytes(**event)));
  }
}

Result<std::vector<EventFile>> FindEventFiles(FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  std::vector<EventFile> found;
  if (!info.is_directory) {
    found.push_back({".", path, info.size});
    return found;
  }
  RETURN_IF_ERROR(FindInFolder(fs, path, ".", 0, found));
  std::ranges::sort(found, {},
                    [](const EventFile& file) { return std::pair(file.run, file.path); });
  if (found.empty()) return NotFound(path, ": there are no event files in or below it");
  return found;
}

}  // namespace thalweg
