// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/checkpoint_reader.h"

#include <algorithm>

#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/slice_file_reader.h"

namespace thalweg {
namespace {

size_t NumSlices(const BundleReader::Entry& entry) { return entry.slices.size(); }
size_t NumSlices(const SliceFileReader::Entry& entry) {
  const bool is_whole = entry.slices.size() == 1 && entry.slices[0].second.IsWhole();
  return is_whole ? 0 : entry.slices.size();
}

template <class Reader>
std::vector<CheckpointReader::Entry> EntriesOfCheckpoint(const Reader& reader) {
  std::vector<CheckpointReader::Entry> entries;
  for (std::string& name : reader.Names()) {
    const auto* const found = reader.Find(name);
    entries.push_back({std::move(name), found->dtype, found->shape, NumSlices(*found)});
  }
  return entries;
}

}  // namespace

CheckpointReader::CheckpointReader() = default;
CheckpointReader::~CheckpointReader() = default;

Result<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(FileSystem& fs,
                                                                 const std::string& prefix) {
  std::unique_ptr<CheckpointReader> reader(new CheckpointReader);
  ASSIGN_OR_RETURN(const bool is_bundle, FileExists(fs, BundleIndexPath(prefix)));
  if (is_bundle) {
    ASSIGN_OR_RETURN(reader->bundle_, BundleReader::Open(fs, prefix));
    reader->tensors_ = EntriesOfCheckpoint(*reader->bundle_);
  } else {
    ASSIGN_OR_RETURN(reader->slice_files_, SliceFileReader::Open(fs, prefix));
    reader->tensors_ = EntriesOfCheckpoint(*reader->slice_files_);
  }
  return reader;
}

const CheckpointReader::Entry* CheckpointReader::Find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(
      tensors_, name, {}, [](const Entry& entry) { return std::string_view(entry.name); });
  return at == tensors_.end() || at->name != name ? nullptr : &*at;
}

Result<Tensor> CheckpointReader::Read(std::string_view name, Allocator& allocator) const {
  return bundle_ ? bundle_->Read(name, allocator) : slice_files_->Read(name, allocator);
}

Result<Tensor> CheckpointReader::ReadOrMap(std::string_view name, Allocator& allocator,
                                           MappedFiles& files) const {
  return bundle_ ? bundle_->ReadOrMap(name, allocator, files) : slice_files_->Read(name, allocator);
}

Result<Tensor> CheckpointReader::ReadSlice(std::string_view name, const TensorSlice& slice,
                                           Allocator& allocator) const {
  return bundle_ ? bundle_->ReadSlice(name, slice, allocator)
                 : slice_files_->ReadSlice(name, slice, allocator);
}

}  // namespace thalweg
