// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/saved_metadata.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "thalweg/base/entropy.h"
#include "thalweg/base/str_cat.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

// Fields of the message, and the version of the files it stands for: those of records.
constexpr uint32_t kRunId = 2, kCreated = 3, kVersion = 4, kTypes = 5, kElements = 6,
                   kFinalized = 1000;
constexpr uint64_t kOfRecords = 2;
constexpr size_t kMostBytes = 1 << 20;

std::string MetadataPath(const std::string& path) { return path + "/snapshot.metadata"; }

struct Fields {
  SavedMetadata metadata;
  uint64_t version = 0;
  uint64_t is_whole = 0;
};

bool ReadType(uint64_t number, Fields* fields) {
  fields->metadata.types.push_back(static_cast<DType>(number));
  return true;
}

// The value of one field; false where it is malformed.
bool ReadField(WireReader& reader, uint32_t tag, Fields* fields) {
  std::string_view bytes;
  uint64_t number = 0;
  const uint32_t field = WireFieldNumber(tag);
  const bool is_bytes = WireTypeOf(tag) == WireType::kLengthDelimited;
  const bool is_number = WireTypeOf(tag) == WireType::kVarint;
  if (field == kRunId && is_bytes) {
    if (!reader.ReadBytes(&bytes)) return false;
    fields->metadata.run_id = bytes;
    return true;
  }
  if (field == kTypes && is_bytes) {
    if (!reader.ReadBytes(&bytes)) return false;
    WireReader types(bytes);
    while (types.ReadVarint(&number)) ReadType(number, fields);
    return types.AtEnd();
  }
  if (!is_number) return reader.Skip(tag);
  if (!reader.ReadVarint(&number)) return false;
  if (field == kTypes) return ReadType(number, fields);
  if (field == kVersion) fields->version = number;
  if (field == kElements) fields->metadata.elements = static_cast<int64_t>(number);
  if (field == kFinalized) fields->is_whole = number;
  return true;
}

Result<std::string> WholeText(FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, fs.OpenForReading(path));
  std::string text(kMostBytes, '\0');
  ASSIGN_OR_RETURN(const size_t n, file->Read(0, text.data(), text.size()));
  if (n == kMostBytes) return DataLoss(path, ": larger than what says where shards are");
  text.resize(n);
  return text;
}

}  // namespace

std::string NewRunId() { return StrCat(RandomSeed()); }

std::string ShardFolder(const std::string& path, const std::string& run_id, int64_t shard) {
  char name[32];
  std::snprintf(name, sizeof(name), "%08lld.shard", static_cast<long long>(shard));
  return StrCat(path, "/", run_id, "/", name);
}

Status WriteMetadata(FileSystem& fs, const std::string& path, const SavedMetadata& metadata) {
  std::string text, types;
  for (const DType type : metadata.types) AppendVarint(types, static_cast<uint64_t>(type));
  AddWireText(kRunId, metadata.run_id, &text);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  PutWireNumber(
      kCreated,
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
      &text);
  PutWireNumber(kVersion, kOfRecords, &text);
  AddWireText(kTypes, types, &text);
  PutWireNumber(kElements, static_cast<uint64_t>(metadata.elements), &text);
  PutWireNumber(kFinalized, 1, &text);
  ASSIGN_OR_RETURN(const auto file, fs.CreateTemporary(MetadataPath(path)));
  Status written = file->Append(text);
  if (written.ok()) written = file->Sync();
  if (written.ok()) written = file->Close();
  if (written.ok()) written = fs.Rename(file->path(), MetadataPath(path));
  if (!written.ok()) (void)fs.RemoveFile(file->path());
  return written;
}

Result<SavedMetadata> ReadMetadata(FileSystem& fs, const std::string& path) {
  const std::string name = MetadataPath(path);
  Result<std::string> text = WholeText(fs, name);
  if (!text.ok() && text.status().code() == Code::kNotFound) {
    return NotFound("Could not find metadata file [", name, "]: no dataset was saved in ", path);
  }
  if (!text.ok()) return text.status();
  Fields fields;
  WireReader reader(*text);
  uint32_t tag = 0;
  while (reader.ReadTag(&tag)) {
    if (!ReadField(reader, tag, &fields)) break;
  }
  if (!reader.AtEnd()) {
    return DataLoss(name, ": no metadata of a saved dataset, wrong at byte ", reader.offset());
  }
  if (fields.version != kOfRecords) {
    return Unimplemented(name, ": files of version ", fields.version,
                         "; datasets are loaded of version ", kOfRecords);
  }
  if (fields.is_whole == 0) {
    return FailedPrecondition(name, ": the dataset was not saved to its end");
  }
  const std::string& id = fields.metadata.run_id;
  if (id.empty() || id.find('/') != std::string::npos || id.starts_with('.')) {
    return DataLoss(name, ": the run is named '", id, "', which is no folder of it");
  }
  return std::move(fields.metadata);
}

Result<std::vector<std::pair<std::string, std::vector<std::string>>>> ShardFiles(
    FileSystem& fs, const std::string& path, const std::string& run_id) {
  std::vector<std::pair<std::string, std::vector<std::string>>> shards;
  const std::string run = StrCat(path, "/", run_id);
  ASSIGN_OR_RETURN(std::vector<std::string> folders, fs.List(run));
  std::sort(folders.begin(), folders.end());
  for (const std::string& folder : folders) {
    if (!folder.ends_with(".shard")) continue;
    const std::string shard = StrCat(run, "/", folder);
    ASSIGN_OR_RETURN(std::vector<std::string> names, fs.List(shard));
    std::sort(names.begin(), names.end());
    std::vector<std::string> files;
    for (const std::string& name : names) {
      if (name.ends_with(".snapshot")) files.push_back(StrCat(shard, "/", name));
    }
    shards.emplace_back(shard, std::move(files));
  }
  return shards;
}

}  // namespace thalweg
