// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/bundle_reader.h"

#include <algorithm>
#include <set>

#include "thalweg/base/crc32c.h"
#include "thalweg/io/bundle_variants.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/slice_copy.h"
#include "thalweg/io/table.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/clean_elements.h"
#include "thalweg/tensor/tensor_proto.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {
namespace {

// Slices are copied as bytes or strings.
Status CheckHasSlices(std::string_view name, DType dtype) {
  if (dtype != DType::kVariant) return OkStatus();
  return Unimplemented("slices of variants, as of tensor '", name, "', cannot be restored");
}

Result<TensorSlice> Whole(const Shape& shape) {
  TensorSlice all;
  all.extents.resize(static_cast<size_t>(shape.rank()));
  return all.Resolve(shape);
}

// Values of a type whose bytes in memory are those in the file, whatever they are.
bool MayBeMapped(const BundleEntry& entry) {
  return IsPlain(entry.dtype) && entry.dtype != DType::kBool && entry.slices.empty() &&
         entry.size >= kLeastMapped && entry.offset % DTypeStride(entry.dtype) == 0;
}

constexpr size_t kReadBytes = size_t{256} << 10;  // checksum and read in pieces that stay in cache

}  // namespace

Result<std::unique_ptr<BundleReader>> BundleReader::Open(FileSystem& fs, std::string prefix) {
  std::unique_ptr<BundleReader> reader(new BundleReader(fs, std::move(prefix)));
  const std::string path = BundleIndexPath(reader->prefix_);
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  ASSIGN_OR_RETURN(const TableEntries rows, ReadTable(*file, path));
  if (rows.empty() || !rows.front().first.empty())
    return DataLoss(path, " is no checkpoint index: it has no header");
  const Result<int> num_shards = ParseBundleHeader(rows.front().second);
  if (!num_shards.ok()) return num_shards.status().WithContext(path);
  reader->num_shards_ = *num_shards;
  for (size_t i = 1; i < rows.size(); ++i) {
    Result<BundleEntry> entry = ParseBundleEntry(rows[i].second, *num_shards);
    if (!entry.ok()) return entry.status().WithContext(StrCat(path, ", entry ", i));
    reader->entries_[rows[i].first] = *std::move(entry);
  }
  return reader;
}

Result<const RandomAccessFile*> BundleReader::Shard(int shard) const {
  const MutexLock lock(mutex_);
  std::unique_ptr<RandomAccessFile>& file = shards_[shard];
  if (file == nullptr) {
    ASSIGN_OR_RETURN(file, fs_.OpenForReading(BundleDataPath(prefix_, shard, num_shards_)));
  }
  return file.get();
}

const BundleReader::Entry* BundleReader::Find(std::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() || (!name.empty() && name.front() == '\0') ? nullptr : &it->second;
}

std::vector<std::string> BundleReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [key, entry] : entries_) {
    if (key.front() != '\0') names.push_back(key);
  }
  return names;
}

Result<const BundleReader::Entry*> BundleReader::Require(std::string_view name) const {
  const Entry* entry = Find(name);
  if (entry != nullptr) return entry;
  std::string some;
  int shown = 0;
  for (const std::string& known : Names()) {
    if (shown++ == 10) break;
    some += StrCat(some.empty() ? "" : ", ", "'", known, "'");
  }
  return NotFound("tensor '", name, "' is not in checkpoint '", prefix_, "', which holds ",
                  Names().size(), " tensors: ", some, shown > 10 ? ", ..." : "");
}

Status BundleReader::CheckSize(const std::string& key, const Entry& entry,
                               const Shape& shape) const {
  const std::string path = BundleDataPath(prefix_, entry.shard, num_shards_);
  ASSIGN_OR_RETURN(const RandomAccessFile* const file, Shard(entry.shard));
  ASSIGN_OR_RETURN(const uint64_t file_size, file->Size());
  if (entry.offset > file_size || entry.size > file_size - entry.offset) {
    return DataLoss(path, ": tensor '", key, "' of ", entry.size, " bytes at ", entry.offset,
                    " lies beyond the file's end at ", file_size);
  }
  if (!IsBundleSize(entry.dtype, shape, entry.size)) {
    return DataLoss(path, ": tensor '", key, "' of type ", entry.dtype, " and shape ", shape,
                    " cannot have ", entry.size, " bytes");
  }
  return OkStatus();
}

Result<Tensor> BundleReader::ReadEntry(const std::string& key, const Entry& entry,
                                       const Shape& shape, Allocator& allocator) const {
  const std::string path = BundleDataPath(prefix_, entry.shard, num_shards_);
  RETURN_IF_ERROR(CheckSize(key, entry, shape));
  if (!IsPlain(entry.dtype) && entry.dtype != DType::kString && entry.dtype != DType::kVariant) {
    return Unimplemented("tensor '", key, "' has type ", entry.dtype, ", which cannot be restored");
  }
  ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(allocator, entry.dtype, shape));
  if (entry.dtype == DType::kString) {
    RETURN_IF_ERROR(ClaimTextHeap(allocator, value, entry.size));
    RETURN_IF_ERROR(ReadStrings(key, entry, value));
    return value;
  }
  if (entry.dtype == DType::kVariant) {
    RETURN_IF_ERROR(ReadVariants(key, entry, value));
    return value;
  }
  ASSIGN_OR_RETURN(const RandomAccessFile* const file, Shard(entry.shard));
  auto* bytes = static_cast<char*>(value.mutable_raw_data());
  uint32_t crc = 0;
  for (size_t done = 0; done < entry.size;) {
    const size_t n = std::min(kReadBytes, static_cast<size_t>(entry.size) - done);
    RETURN_IF_ERROR(ReadExactly(*file, entry.offset + done, bytes + done, n).WithContext(path));
    crc = ExtendCrc32c(crc, {bytes + done, n});
    done += n;
  }
  if (MaskCrc32c(crc) != entry.crc)
    return DataLoss(path, ": tensor '", key, "' does not match its checksum");
  CleanElements(&value);
  return value;
}

Status BundleReader::ReadVariants(const std::string& key, const Entry& entry, Tensor& value) const {
  const std::string path = BundleDataPath(prefix_, entry.shard, num_shards_);
  ASSIGN_OR_RETURN(const RandomAccessFile* const file, Shard(entry.shard));
  std::string bytes(entry.size, '\0');
  RETURN_IF_ERROR(ReadExactly(*file, entry.offset, bytes.data(), bytes.size()).WithContext(path));
  uint32_t crc = 0;
  RETURN_IF_ERROR(
      ParseBundleVariants(bytes, &crc, value).WithContext(StrCat(path, ": tensor '", key, "'")));
  if (MaskCrc32c(crc) == entry.crc) return OkStatus();
  return DataLoss(path, ": tensor '", key, "' does not match its checksum");
}

Status BundleReader::ReadStrings(const std::string& key, const Entry& entry, Tensor& value) const {
  const std::string path = BundleDataPath(prefix_, entry.shard, num_shards_);
  ASSIGN_OR_RETURN(const RandomAccessFile* const file, Shard(entry.shard));
  std::string bytes(entry.size, '\0');
  RETURN_IF_ERROR(ReadExactly(*file, entry.offset, bytes.data(), bytes.size()).WithContext(path));
  StoredStrings strings;
  if (!ParseStoredStrings(bytes, static_cast<uint64_t>(value.num_elements()), &strings)) {
    return DataLoss(path, ": damaged string lengths of tensor '", key, "'");
  }
  if (strings.expected_lengths_crc != strings.found_lengths_crc) {
    return DataLoss(path, ": the string lengths of tensor '", key, "' do not match their checksum");
  }
  if (strings.found_crc != entry.crc)
    return DataLoss(path, ": tensor '", key, "' does not match its checksum");
  const std::vector<uint64_t>& lengths = strings.lengths;
  size_t at = strings.begin;
  for (size_t i = 0; i < lengths.size(); ++i) {
    value.mutable_data<std::string>()[i].assign(bytes, at, lengths[i]);
    at += lengths[i];
  }
  return OkStatus();
}

// The pieces that make up `wanted` (resolved), each element of it once. All are known to lie in
// their files, so that what is allocated for them is there.
Result<std::vector<BundleReader::Piece>> BundleReader::PiecesOf(std::string_view name,
                                                                const Entry& entry,
                                                                const TensorSlice& wanted) const {
  ASSIGN_OR_RETURN(const Shape shape, wanted.SliceShape(entry.shape));
  const auto asked = static_cast<uint64_t>(shape.num_elements());
  const auto overlap = [&] {
    return DataLoss("checkpoint '", prefix_, "': slices of tensor '", name, "' overlap");
  };
  std::vector<Piece> pieces;
  std::set<const Entry*> seen;
  uint64_t covered = 0;
  for (const TensorSlice& slice : entry.slices) {
    Piece piece;
    ASSIGN_OR_RETURN(piece.box, slice.Resolve(entry.shape));
    if (!Intersect(piece.box, wanted, &piece.common)) continue;
    piece.name = StrCat(name, " slice ", slice.ToString());
    const auto it = entries_.find(SliceKey(name, slice));
    if (it == entries_.end()) {
      return DataLoss("checkpoint '", prefix_, "': slice '", slice.ToString(), "' of tensor '",
                      name, "' is missing");
    }
    piece.entry = &it->second;
    if (!seen.insert(piece.entry).second) return overlap();
    if (piece.entry->dtype != entry.dtype) {
      return DataLoss("checkpoint '", prefix_, "': tensor '", name, "' is of type ", entry.dtype,
                      ", its slice '", slice.ToString(), "' of type ", piece.entry->dtype);
    }
    ASSIGN_OR_RETURN(piece.shape, slice.SliceShape(entry.shape));
    RETURN_IF_ERROR(CheckSize(piece.name, *piece.entry, piece.shape));
    uint64_t elements = 1;
    for (const TensorSlice::Extent& e : piece.common.extents)
      elements *= static_cast<uint64_t>(e.length);
    covered += elements;
    if (covered > asked) return overlap();
    pieces.push_back(std::move(piece));
  }
  if (covered < asked) {
    return NotFound("checkpoint '", prefix_, "' holds only ", covered, " of the ", asked,
                    " elements asked for of tensor '", name, "'");
  }
  // As many elements as are wanted may still lie one over the other.
  std::vector<bool> filled(static_cast<size_t>(asked));
  for (const Piece& piece : pieces) {
    ForRuns(piece.box, wanted, piece.common, [&](size_t, size_t into, size_t n) {
      std::fill_n(filled.begin() + static_cast<ptrdiff_t>(into), n, true);
    });
  }
  if (std::find(filled.begin(), filled.end(), false) != filled.end()) return overlap();
  return pieces;
}

Result<Tensor> BundleReader::Assemble(std::string_view name, const Entry& entry,
                                      const TensorSlice& wanted, Allocator& allocator) const {
  RETURN_IF_ERROR(CheckHasSlices(name, entry.dtype));
  ASSIGN_OR_RETURN(const std::vector<Piece> pieces, PiecesOf(name, entry, wanted));
  ASSIGN_OR_RETURN(const Shape shape, wanted.SliceShape(entry.shape));
  ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(allocator, entry.dtype, shape));
  for (const Piece& piece : pieces) {
    ASSIGN_OR_RETURN(const Tensor part,
                     ReadEntry(piece.name, *piece.entry, piece.shape, allocator));
    CopyBox(part, piece.box, value, wanted, piece.common);
  }
  return value;
}

Result<Tensor> BundleReader::Read(std::string_view name, Allocator& allocator) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(name));
  if (entry->slices.empty()) return ReadEntry(std::string(name), *entry, entry->shape, allocator);
  ASSIGN_OR_RETURN(const TensorSlice wanted, Whole(entry->shape));
  return Assemble(name, *entry, wanted, allocator);
}

Result<Tensor> BundleReader::ReadOrMap(std::string_view name, Allocator& allocator,
                                       MappedFiles& files) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(name));
  const size_t bytes_in_memory =
      static_cast<size_t>(entry->shape.num_elements()) * DTypeStride(entry->dtype);
  if (!MayBeMapped(*entry) || entry->size != bytes_in_memory) return Read(name, allocator);
  RETURN_IF_ERROR(CheckSize(std::string(name), *entry, entry->shape));
  ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file,
                   files.Map(BundleDataPath(prefix_, entry->shard, num_shards_)));
  const std::string_view bytes = file->bytes();
  if (entry->offset > bytes.size() || entry->size > bytes.size() - entry->offset) {
    return DataLoss(file->path(), ": tensor '", name, "' of ", entry->size, " bytes at ",
                    entry->offset, " lies beyond the file's end at ", bytes.size());
  }
  // Nobody writes into it: the tensor is never its handle's alone.
  return Tensor::FromBuffer(entry->dtype, entry->shape,
                            const_cast<char*>(bytes.data()) + entry->offset,
                            [file = std::move(file)] {});
}

Status BundleReader::CheckPieces(std::string_view name) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(name));
  if (entry->slices.empty()) return OkStatus();
  RETURN_IF_ERROR(CheckHasSlices(name, entry->dtype));
  ASSIGN_OR_RETURN(const TensorSlice wanted, Whole(entry->shape));
  return PiecesOf(name, *entry, wanted).status();
}

Result<Tensor> BundleReader::ReadSlice(std::string_view name, const TensorSlice& slice,
                                       Allocator& allocator) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(name));
  ASSIGN_OR_RETURN(const TensorSlice wanted, slice.Resolve(entry->shape));
  if (!entry->slices.empty()) return Assemble(name, *entry, wanted, allocator);
  RETURN_IF_ERROR(CheckHasSlices(name, entry->dtype));
  ASSIGN_OR_RETURN(const Tensor whole,
                   ReadEntry(std::string(name), *entry, entry->shape, allocator));
  ASSIGN_OR_RETURN(const Shape shape, wanted.SliceShape(entry->shape));
  ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(allocator, entry->dtype, shape));
  ASSIGN_OR_RETURN(const TensorSlice box, Whole(entry->shape));
  if (shape.num_elements() > 0) CopyBox(whole, box, value, wanted, wanted);
  return value;
}

}  // namespace thalweg
