// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/checkpoint_audit.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "thalweg/base/crc32c.h"
#include "thalweg/files/missing_pieces.h"
#include "thalweg/files/table_audit.h"
#include "thalweg/io/bundle_entry.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_variants.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/matching_paths.h"
#include "thalweg/io/slice_file_reader.h"

namespace thalweg {
namespace {

constexpr size_t kAuditReadBytes = size_t{1} << 20;

// What is to be said of a tensor whose slices do not hold all of it; `why` where that is too much.
std::string IsInPart(const std::string& name, const Shape& shape,
                     const std::vector<TensorSlice>& slices, const Status& why) {
  const Result<std::vector<TensorSlice>> missing = MissingPieces(shape, slices);
  if (!missing.ok() || missing->empty()) {
    return StrCat("tensor '", name, "': ", why.message());
  }
  std::string places;
  for (const TensorSlice& box : *missing) {
    places += StrCat(places.empty() ? "'" : ", '", box.ToString(), "'");
  }
  return StrCat("tensor '", name, "' of shape ", shape, " was saved in part: ", places,
                missing->size() == 1 ? " is in no slice" : " are in no slice");
}

class BundleAuditor {
 public:
  BundleAuditor(FileSystem& fs, const std::string& prefix, const ProgressFn& tell)
      : fs_(fs), prefix_(prefix), index_path_(BundleIndexPath(prefix)), progress_(tell, 0) {}

  Result<Audit> Run() {
    ASSIGN_OR_RETURN(const FileInfo index, fs_.Stat(index_path_));
    progress_.Expect(index.size);
    RETURN_IF_ERROR(AuditTable(fs_, index_path_, audit_, progress_,
                               [&](std::string_view key, std::string_view value, uint64_t block) {
                                 AddRow(key, value, block);
                               }));
    if (num_shards_ == 0) {
      if (audit_.num_damages == 0) Tell(index_path_, std::nullopt, "there is no header");
      return std::move(audit_);
    }
    CheckSlices();
    RETURN_IF_ERROR(CheckData());
    if (audit_.num_damages == 0) RETURN_IF_ERROR(CheckPieces());
    return std::move(audit_);
  }

 private:
  void Tell(const std::string& file, std::optional<uint64_t> offset, std::string what,
            std::string expected = "", std::string found = "") {
    audit_.Add({file, offset, std::move(what), std::move(expected), std::move(found)});
  }

  static bool IsPiece(std::string_view key) { return !key.empty() && key.front() == '\0'; }
  static std::string NameOf(const std::string& key) {
    if (!IsPiece(key)) return StrCat("tensor '", key, "'");
    // A piece is named by its key, an encoding: its name stands in it as it is, behind "\0" and an
    // encoded number.
    std::string shown;
    for (const char c : key) {
      if (c >= ' ' && c < '\x7f') shown += c;
    }
    return StrCat("piece '", shown, "'");
  }

  void AddRow(std::string_view key, std::string_view value, uint64_t block) {
    if (key.empty()) {
      const Result<int> shards = ParseBundleHeader(value);
      if (shards.ok()) {
        num_shards_ = *shards;
      } else {
        Tell(index_path_, block, StrCat("the header: ", shards.status().message()));
      }
      return;
    }
    if (num_shards_ == 0) return;  // told already
    Result<BundleEntry> entry = ParseBundleEntry(value, num_shards_);
    if (!entry.ok()) {
      Tell(index_path_, block,
           StrCat("the entry of ", NameOf(std::string(key)), ": ", entry.status().message()));
      return;
    }
    audit_.records += IsPiece(key) ? 0 : 1;
    entries_.emplace(key, *std::move(entry));
  }

  // A tensor in pieces has all that it names.
  void CheckSlices() {
    for (const auto& [key, entry] : entries_) {
      for (const TensorSlice& slice : entry.slices) {
        if (entries_.contains(SliceKey(key, slice))) continue;
        Tell(index_path_, std::nullopt, StrCat(NameOf(key), " lacks its slice ", slice.ToString()));
      }
    }
  }

  // Pieces make up their tensor. One that was saved in part is whole to nobody who reads it.
  Status CheckPieces() {
    ASSIGN_OR_RETURN(const auto reader, BundleReader::Open(fs_, prefix_));
    for (const auto& [key, entry] : entries_) {
      if (entry.slices.empty() || IsPiece(key)) continue;
      const Status status = reader->CheckPieces(key);
      if (status.code() == Code::kDataLoss) {
        Tell(index_path_, std::nullopt, std::string(status.message()));
      } else if (status.code() == Code::kNotFound) {
        Tell(index_path_, std::nullopt, IsInPart(key, entry.shape, entry.slices, status));
      }
    }
    return OkStatus();
  }

  Status CheckData() {
    std::vector<std::pair<const std::string*, const BundleEntry*>> stored;
    for (const auto& [key, entry] : entries_) {
      if (entry.slices.empty()) stored.emplace_back(&key, &entry);
    }
    std::ranges::sort(stored, {}, [](const auto& item) {
      return std::tuple(item.second->shard, item.second->offset, *item.first);
    });
    for (const auto& [key, entry] : stored) progress_.Expect(entry->size);
    for (size_t i = 0; i < stored.size(); ++i) {
      const auto& [key, entry] = stored[i];
      if (i == 0 || stored[i - 1].second->shard != entry->shard) {
        if (!OpenShard(entry->shard)) {
          while (i + 1 < stored.size() && stored[i + 1].second->shard == entry->shard) ++i;
          continue;
        }
      }
      RETURN_IF_ERROR(CheckTensor(*key, *entry));
    }
    return OkStatus();
  }

  bool OpenShard(int shard) {
    data_path_ = BundleDataPath(prefix_, shard, num_shards_);
    next_byte_ = 0;
    Result<std::unique_ptr<RandomAccessFile>> file = fs_.OpenForReading(data_path_);
    const Result<uint64_t> size = file.ok() ? (*file)->Size() : file.status();
    if (!size.ok()) {
      Tell(data_path_, std::nullopt, std::string(size.status().message()));
      return false;
    }
    data_ = *std::move(file);
    data_size_ = *size;
    audit_.files.push_back(data_path_);
    return true;
  }

  Status CheckTensor(const std::string& key, const BundleEntry& entry) {
    const std::string name = NameOf(key);
    if (entry.offset > data_size_ || entry.size > data_size_ - entry.offset) {
      Tell(data_path_, entry.offset, name + " lies beyond the end of the file",
           StrCat("at least ", entry.offset, " + ", entry.size, " bytes"),
           StrCat(data_size_, " bytes"));
      return OkStatus();
    }
    if (entry.size > 0 && entry.offset < next_byte_) {
      Tell(data_path_, entry.offset, name + " lies over the tensor before it");
      return OkStatus();  // also keeps an index that names bytes many times from taking long
    }
    next_byte_ = std::max(next_byte_, entry.offset + entry.size);
    if (!IsBundleSize(entry.dtype, entry.shape, entry.size)) {
      Tell(data_path_, entry.offset,
           StrCat(name, " of type ", entry.dtype, " and shape ", entry.shape,
                  " cannot have its bytes"),
           IsPlain(entry.dtype) ? StrCat(entry.shape.num_elements(), " elements of ",
                                         DTypeSize(entry.dtype), " bytes")
                                : StrCat("at least ", entry.shape.num_elements(), " bytes"),
           StrCat(entry.size, " bytes"));
      return OkStatus();
    }
    if (IsPlain(entry.dtype)) return CheckBytes(name, entry);
    std::string bytes(entry.size, '\0');
    RETURN_IF_ERROR(
        ReadExactly(*data_, entry.offset, bytes.data(), bytes.size()).WithContext(data_path_));
    audit_.bytes += bytes.size();
    if (entry.dtype == DType::kString) {
      CheckStrings(name, entry, bytes);
    } else if (entry.dtype == DType::kVariant) {
      CheckVariants(name, entry, bytes);
    } else {
      Tell(index_path_, std::nullopt,
           StrCat(name, " has type ", entry.dtype, ", which is none of a checkpoint"));
    }
    return progress_.Add(entry.size);
  }

  Status CheckBytes(const std::string& name, const BundleEntry& entry) {
    buffer_.resize(kAuditReadBytes);
    uint32_t crc = 0;
    for (uint64_t done = 0; done < entry.size;) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(kAuditReadBytes, entry.size - done));
      RETURN_IF_ERROR(
          ReadExactly(*data_, entry.offset + done, buffer_.data(), n).WithContext(data_path_));
      crc = ExtendCrc32c(crc, {buffer_.data(), n});
      done += n;
      audit_.bytes += n;
      RETURN_IF_ERROR(progress_.Add(n));
    }
    audit_.CheckCrc(data_path_, entry.offset, name, UnmaskCrc32c(entry.crc), crc);
    return OkStatus();
  }

  void CheckStrings(const std::string& name, const BundleEntry& entry, std::string_view bytes) {
    StoredStrings strings;
    if (!ParseStoredStrings(bytes, static_cast<uint64_t>(entry.shape.num_elements()), &strings)) {
      Tell(data_path_, entry.offset, StrCat("the string lengths of ", name));
      return;
    }
    audit_.CheckCrc(data_path_, entry.offset, "the string lengths of " + name,
                    UnmaskCrc32c(strings.expected_lengths_crc),
                    UnmaskCrc32c(strings.found_lengths_crc));
    audit_.CheckCrc(data_path_, entry.offset, name, UnmaskCrc32c(entry.crc),
                    UnmaskCrc32c(strings.found_crc));
  }

  // A checksum counts all elements before it: none behind a wrong one can be right.
  void CheckVariants(const std::string& name, const BundleEntry& entry, std::string_view bytes) {
    StoredVariants variants(bytes);
    for (int64_t i = 0; i < entry.shape.num_elements(); ++i) {
      const uint64_t at = entry.offset + (bytes.size() - variants.rest().size());
      const Result<StoredVariant> variant = variants.Next();
      if (!variant.ok()) {
        Tell(data_path_, at, StrCat(name, ": ", variant.status().message()));
        return;
      }
      audit_.CheckCrc(data_path_, at, StrCat("element ", i, " of ", name),
                      UnmaskCrc32c(variant->expected_crc), UnmaskCrc32c(variant->found_crc));
      if (variant->expected_crc != variant->found_crc) return;
    }
    if (!variants.rest().empty()) {
      Tell(data_path_, entry.offset + (bytes.size() - variants.rest().size()),
           StrCat("bytes follow the last element of ", name));
      return;
    }
    audit_.CheckCrc(data_path_, entry.offset, name, UnmaskCrc32c(entry.crc), variants.crc());
  }

  FileSystem& fs_;
  const std::string prefix_;
  const std::string index_path_;
  Progress progress_;
  Audit audit_;
  int num_shards_ = 0;
  std::map<std::string, BundleEntry, std::less<>> entries_;
  std::string data_path_;
  std::unique_ptr<RandomAccessFile> data_;
  uint64_t data_size_ = 0;
  uint64_t next_byte_ = 0;  // behind the tensors so far
  std::string buffer_;
};

// Checksums are those of the blocks; then every tensor is read.
Result<Audit> AuditSliceFiles(FileSystem& fs, const std::string& pattern, const ProgressFn& tell) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, MatchingPaths(fs, pattern));
  Progress progress(tell, 0);
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
    progress.Expect(2 * info.size);
  }
  Audit audit;
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(AuditTable(fs, path, audit, progress, [](auto, auto, auto) {}));
  }
  if (audit.num_damages > 0) return audit;
  const Result<std::unique_ptr<SliceFileReader>> reader = SliceFileReader::Open(fs, pattern);
  if (!reader.ok()) {
    if (paths.empty()) return reader.status();
    audit.Add({pattern, std::nullopt, std::string(reader.status().message()), "", ""});
    return audit;
  }
  const AllocatorPtr allocator = MakeCpuAllocator();
  for (const std::string& name : (*reader)->Names()) {
    const Result<Tensor> value = (*reader)->Read(name, *allocator);
    ++audit.records;
    if (!value.ok()) {
      std::vector<TensorSlice> slices;
      const SliceFileReader::Entry& entry = *(*reader)->Find(name);
      for (const auto& [file, slice] : entry.slices) slices.push_back(slice);
      audit.Add(
          {pattern, std::nullopt, IsInPart(name, entry.shape, slices, value.status()), "", ""});
      continue;
    }
    RETURN_IF_ERROR(progress.Add(value->bytes()));
  }
  return audit;
}

}  // namespace

Result<Audit> AuditCheckpoint(FileSystem& fs, const std::string& prefix,
                              const ProgressFn& progress) {
  ASSIGN_OR_RETURN(const bool is_bundle, FileExists(fs, BundleIndexPath(prefix)));
  if (is_bundle) return BundleAuditor(fs, prefix, progress).Run();
  return AuditSliceFiles(fs, prefix, progress);
}

}  // namespace thalweg
