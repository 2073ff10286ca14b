// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/checkpoint_files.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "thalweg/base/temporary_name.h"
#include "thalweg/io/bundle_writer.h"

namespace thalweg {
namespace {

constexpr std::string_view kRemoved = ".index.removed";
constexpr int64_t kAnyTime = std::numeric_limits<int64_t>::max();

// NAME.data-NNNNN-of-NNNNN, with as many digits as there are.
bool IsDataOf(std::string_view name, std::string_view base) {
  if (!name.starts_with(base) || !name.substr(base.size()).starts_with(".data-")) return false;
  const std::string_view numbers = name.substr(base.size() + std::string_view(".data-").size());
  const size_t of = numbers.find("-of-");
  if (of == std::string_view::npos) return false;
  const auto is_number = [](std::string_view text) {
    return text.size() >= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return is_number(numbers.substr(0, of)) && is_number(numbers.substr(of + 4));
}

Status RemoveIfThere(FileSystem& fs, const std::string& path) {
  Status status = fs.RemoveFile(path);
  return status.code() == Code::kNotFound ? OkStatus() : status;
}

// Data files last written at `newest` or before: younger ones are of a checkpoint of the same name
// that is just being saved.
Status RemoveData(FileSystem& fs, const std::string& directory,
                  const std::vector<std::string>& names, std::string_view base, int64_t newest) {
  for (const std::string& name : names) {
    if (!IsDataOf(name, base)) continue;
    const std::string path = StrCat(directory, "/", name);
    const Result<FileInfo> info = fs.Stat(path);
    if (!info.ok() || info->modified_nanos > newest) continue;
    RETURN_IF_ERROR(RemoveIfThere(fs, path));
  }
  return OkStatus();
}

// Goes on with the removal that the name of an index tells of.
Status EndRemoval(FileSystem& fs, const std::string& directory,
                  const std::vector<std::string>& names, const std::string& marker,
                  std::string_view base) {
  const std::string path = StrCat(directory, "/", marker);
  ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  const std::string prefix = StrCat(directory, "/", base);
  ASSIGN_OR_RETURN(const bool is_back, FileExists(fs, BundleIndexPath(prefix)));
  if (!is_back) RETURN_IF_ERROR(RemoveIfThere(fs, prefix + ".meta"));
  // The index is written after the data.
  RETURN_IF_ERROR(RemoveData(fs, directory, names, base, info.modified_nanos));
  return fs.RemoveFile(path);
}

}  // namespace

Status RemoveCheckpoint(FileSystem& fs, const std::string& prefix, CheckpointFormat format) {
  const std::string directory = ParentDirectory(prefix);
  const std::string base = prefix.substr(prefix.rfind('/') + 1);
  const std::string marker = MakeTemporaryName(StrCat(prefix, kRemoved));
  const Status renamed = fs.Rename(BundleIndexPath(prefix), marker);
  if (!renamed.ok() && renamed.code() != Code::kNotFound) return renamed;
  if (format == CheckpointFormat::kV1) RETURN_IF_ERROR(RemoveIfThere(fs, prefix));
  RETURN_IF_ERROR(RemoveIfThere(fs, prefix + ".meta"));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs.List(directory));
  RETURN_IF_ERROR(RemoveData(fs, directory, names, base, kAnyTime));
  return renamed.ok() ? RemoveIfThere(fs, marker) : OkStatus();
}

void SweepLeftovers(FileSystem& fs, const std::string& directory) {
  const Result<std::vector<std::string>> names = fs.List(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const TemporaryName parsed = ParseTemporaryName(name);
    if (!parsed.is_temporary) continue;
    if (parsed.prefix.ends_with(kRemoved)) {
      const std::string_view base = parsed.prefix.substr(0, parsed.prefix.size() - kRemoved.size());
      EndRemoval(fs, directory, *names, name, base).IgnoreError();
    } else {
      fs.RemoveAbandoned(StrCat(directory, "/", name)).status().IgnoreError();
    }
  }
}

}  // namespace thalweg
