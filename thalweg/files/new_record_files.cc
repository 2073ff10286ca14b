// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/new_record_files.h"

#include <cstdio>

#include "thalweg/io/checkpoint_files.h"
#include "thalweg/io/record_framing.h"

namespace thalweg {

NewRecordFiles::~NewRecordFiles() {
  file_.reset();
  for (const std::string& path : temporaries_) fs_.RemoveFile(path).IgnoreError();
  RemoveGuard();
}

void NewRecordFiles::RemoveGuard() {
  if (guard_ != nullptr) fs_.RemoveFile(guard_->path()).IgnoreError();
  guard_.reset();
}

std::vector<std::string> NewRecordFiles::Names(const std::string& path, size_t shards,
                                               bool are_shards) {
  if (!are_shards) return {path};
  std::vector<std::string> names;
  for (size_t i = 0; i < shards; ++i) {
    char suffix[64];
    std::snprintf(suffix, sizeof(suffix), "-%05zu-of-%05zu", i, shards);
    names.push_back(path + suffix);
  }
  return names;
}

Status NewRecordFiles::CheckNumber(uint64_t shards) {
  if (shards <= kMostShards) return OkStatus();
  return InvalidArgument("there can be at most ", kMostShards, " files, not ", shards);
}

Status NewRecordFiles::CheckFree(size_t shards, bool are_shards) const {
  RETURN_IF_ERROR(CheckNumber(shards));
  if (may_replace_) return OkStatus();
  for (const std::string& name : Names(path_, shards, are_shards)) {
    ASSIGN_OR_RETURN(const bool exists, FileExists(fs_, name));
    if (exists) return AlreadyExists(name, ": the file is there already; --force replaces it");
  }
  return OkStatus();
}

Status NewRecordFiles::Complete() {
  std::string rest;
  RETURN_IF_ERROR(deflater_->Finish(&rest));
  RETURN_IF_ERROR(file_->Append(rest));
  return file_->Sync();
}

Status NewRecordFiles::SetAside() {
  RETURN_IF_ERROR(Complete());
  if (guard_ == nullptr) {
    ASSIGN_OR_RETURN(guard_, fs_.CreateTemporary(path_ + ".tmp"));
  }
  std::string name = StrCat(guard_->path(), ".", temporaries_.size());
  RETURN_IF_ERROR(fs_.Rename(temporaries_.back(), name));
  temporaries_.back() = std::move(name);
  Status closed = file_->Close();
  file_.reset();
  return closed;
}

Status NewRecordFiles::Begin() {
  RETURN_IF_ERROR(CheckNumber(temporaries_.size() + 1));
  if (file_ != nullptr) {
    RETURN_IF_ERROR(SetAside());
  } else {
    SweepLeftovers(fs_, ParentDirectory(path_));
  }
  ASSIGN_OR_RETURN(deflater_, Deflater::Make(compression_));
  ASSIGN_OR_RETURN(file_, fs_.CreateTemporary(path_ + ".tmp"));
  temporaries_.push_back(file_->path());
  return OkStatus();
}

Status NewRecordFiles::Add(std::string_view record) {
  std::string bytes;
  RETURN_IF_ERROR(deflater_->Add(FrameRecord(record), &bytes));
  return file_->Append(bytes);
}

Result<std::vector<std::string>> NewRecordFiles::Finish(bool are_shards) {
  if (file_ == nullptr) RETURN_IF_ERROR(Begin());
  const size_t shards = temporaries_.size();
  RETURN_IF_ERROR(CheckFree(shards, are_shards));
  std::vector<std::string> names = Names(path_, shards, are_shards);
  RETURN_IF_ERROR(Complete());
  for (size_t i = 0; i < shards; ++i) {
    RETURN_IF_ERROR(fs_.Rename(temporaries_[i], names[i]));
  }
  temporaries_.clear();
  RemoveGuard();
  RETURN_IF_ERROR(file_->Close());
  return names;
}

}  // namespace thalweg
