// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/checkpoint_files.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "thalweg/base/temporary_name.h"
#include "thalweg/io/bundle_writer.h"

namespace thalweg {
namespace {

// What an index is called while its checkpoint is being removed, and before it is there.
constexpr std::string_view kRemoved = ".index.removed", kUnfinished = ".index.tempstate";
constexpr int64_t kAnyTime = std::numeric_limits<int64_t>::max();

// How many there are of the data file NAME.data-NNNNN-of-NNNNN; "": it is none of this name.
std::string_view CountInName(std::string_view name, std::string_view base) {
  constexpr std::string_view kData = ".data-", kOf = "-of-";
  if (!name.starts_with(base) || !name.substr(base.size()).starts_with(kData)) return "";
  const std::string_view numbers = name.substr(base.size() + kData.size());
  const size_t of = numbers.find(kOf);
  if (of == std::string_view::npos) return "";
  const auto is_number = [](std::string_view text) {
    return text.size() >= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::string_view count = numbers.substr(of + kOf.size());
  return is_number(numbers.substr(0, of)) && is_number(count) ? count : "";
}

Status RemoveIfThere(FileSystem& fs, const std::string& path) {
  Status status = fs.RemoveFile(path);
  return status.code() == Code::kNotFound ? OkStatus() : status;
}

// Data files last written at `newest` or before: younger ones are of a checkpoint of the same name
// that is just being saved. One that is there keeps its `num_shards`.
Status RemoveData(FileSystem& fs, const std::string& prefix, const std::vector<std::string>& names,
                  int64_t newest, int num_shards = 0) {
  const std::string base = prefix.substr(prefix.rfind('/') + 1);
  const std::string used = BundleDataPath(base, 0, num_shards);
  for (const std::string& name : names) {
    const std::string_view count = CountInName(name, base);
    if (count.empty() || (num_shards > 0 && count == CountInName(used, base))) continue;
    const std::string path = StrCat(ParentDirectory(prefix), "/", name);
    const Result<FileInfo> info = fs.Stat(path);
    if (!info.ok() || info->modified_nanos > newest) continue;
    RETURN_IF_ERROR(RemoveIfThere(fs, path));
  }
  return OkStatus();
}

// Removes what belongs to an index that has been renamed, or has not got its name yet: all that was
// written before it, but for what another index speaks of.
Status RemoveBelonging(FileSystem& fs, const std::string& prefix,
                       const std::vector<std::string>& names, const std::string& renamed) {
  ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(renamed));
  ASSIGN_OR_RETURN(const bool is_there, FileExists(fs, BundleIndexPath(prefix)));
  const int num_shards = NumShardsAt(fs, prefix);
  if (is_there && num_shards == 0) return OkStatus();  // nobody knows what it speaks of
  if (!is_there) RETURN_IF_ERROR(RemoveIfThere(fs, prefix + ".meta"));
  return RemoveData(fs, prefix, names, info.modified_nanos, num_shards);
}

// "m-7_temp_0123...": where the parts of a sharded save are.
bool IsPartsDirectory(std::string_view name) {
  constexpr std::string_view kTemporary = "_temp_";
  constexpr size_t kDigits = 32;
  if (name.size() <= kTemporary.size() + kDigits) return false;
  const std::string_view ending = name.substr(name.size() - kTemporary.size() - kDigits);
  return ending.starts_with(kTemporary) &&
         ending.find_first_not_of("0123456789abcdef", kTemporary.size()) == std::string_view::npos;
}

constexpr std::string_view kGuard = "guard";

// The locks of a directory of parts, and all else that is in it.
struct Parts {
  std::vector<std::string> guards, others;
};

Parts ListParts(FileSystem& fs, const std::string& directory) {
  Parts parts;
  const Result<std::vector<std::string>> names = fs.List(directory);
  if (!names.ok()) return parts;
  for (const std::string& name : *names) {
    const bool is_guard = ParseTemporaryName(name).prefix == kGuard;
    (is_guard ? parts.guards : parts.others).push_back(StrCat(directory, "/", name));
  }
  return parts;
}

// The last guard goes behind all others and all that it guards.
void SweepParts(FileSystem& fs, const std::string& directory) {
  const Parts parts = ListParts(fs, directory);
  for (size_t i = 0; i < parts.guards.size(); ++i) {
    const bool is_last = i + 1 == parts.guards.size();
    const auto first = [&]() -> Status {
      for (const std::string& path : parts.others) {
        if (is_last) RETURN_IF_ERROR(RemoveIfThere(fs, path));
      }
      return OkStatus();
    };
    const Result<bool> gone = fs.RemoveAbandoned(parts.guards[i], first);
    if (!gone.ok() || !*gone) return;
    if (is_last) fs.RemoveDirectory(directory).IgnoreError();
  }
}

}  // namespace

Status RemoveCheckpoint(FileSystem& fs, const std::string& prefix, CheckpointFormat format) {
  const std::string marker = MakeTemporaryName(StrCat(prefix, kRemoved));
  Status renamed = fs.Rename(BundleIndexPath(prefix), marker);
  if (!renamed.ok() && renamed.code() != Code::kNotFound) return renamed;
  if (format == CheckpointFormat::kV1) RETURN_IF_ERROR(RemoveIfThere(fs, prefix));
  RETURN_IF_ERROR(RemoveIfThere(fs, prefix + ".meta"));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(ParentDirectory(prefix)));
  RETURN_IF_ERROR(RemoveData(fs, prefix, names, kAnyTime));
  return renamed.ok() ? RemoveIfThere(fs, marker) : OkStatus();
}

void SweepLeftovers(FileSystem& fs, const std::string& directory) {
  const Result<std::vector<std::string>> names = fs.List(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = StrCat(directory, "/", name);
    if (IsPartsDirectory(name)) {
      SweepParts(fs, path);
      continue;
    }
    const std::string_view begin = ParseTemporaryName(path).prefix;
    const auto belonging_to = [&](std::string_view ending) {
      const std::string prefix(begin.substr(0, begin.size() - ending.size()));
      return RemoveBelonging(fs, prefix, *names, path);
    };
    if (begin.ends_with(kRemoved)) {
      const Status done = belonging_to(kRemoved);
      if (done.ok()) fs.RemoveFile(path).IgnoreError();
      continue;
    }
    const auto first = [&]() -> Status {
      if (begin.ends_with(kUnfinished)) return belonging_to(kUnfinished);
      // What has its name before its own, such as the files that it guards.
      for (const std::string& other : *names) {
        if (!other.starts_with(name + ".")) continue;
        RETURN_IF_ERROR(RemoveIfThere(fs, StrCat(directory, "/", other)));
      }
      return OkStatus();
    };
    fs.RemoveAbandoned(path, first).status().IgnoreError();
  }
}

Result<std::unique_ptr<WritableFile>> GuardParts(FileSystem& fs, const std::string& part) {
  const std::string directory(ParentDirectory(part));
  if (!IsPartsDirectory(directory)) return std::unique_ptr<WritableFile>();
  SweepLeftovers(fs, std::string(ParentDirectory(directory)));
  RETURN_IF_ERROR(fs.MakeDirectories(directory));
  return fs.CreateTemporary(StrCat(directory, "/", kGuard));
}

void RemovePartsDirectory(FileSystem& fs, const std::string& directory) {
  for (const std::string& guard : ListParts(fs, directory).guards) {
    fs.RemoveFile(guard).IgnoreError();
  }
  fs.RemoveDirectory(directory).IgnoreError();
}

}  // namespace thalweg
