// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/bundle_reader.h"

#include <algorithm>

#include "thalweg/base/crc32c.h"
#include "thalweg/io/bundle_variants.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/slice_copy.h"
#include "thalweg/io/table.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {
namespace {

namespace Pb = pb::BundleEntryProto;

// Slices are copied as bytes or strings.
Status CheckHasSlices(std::string_view name, DType dtype) {
  if (dtype != DType::kVariant) return OkStatus();
  return Unimplemented("slices of variants, as of tensor '", name, "', cannot be restored");
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
  ASSIGN_OR_RETURN(const OwnedMessage header, ParseMessage(pb::BundleHeaderProto::Descriptor(),
                                                           std::string_view(rows.front().second)));
  if (header->GetInt(pb::BundleHeaderProto::kEndianness) != 0) {
    return Unimplemented(path, ": the checkpoint was written on a big-endian machine");
  }
  reader->num_shards_ = static_cast<int>(header->GetInt(pb::BundleHeaderProto::kNumShards));
  if (reader->num_shards_ < 1 || reader->num_shards_ > 100000) {
    return DataLoss(path, ": the header claims ", reader->num_shards_, " data files");
  }
  for (size_t i = 1; i < rows.size(); ++i) {
    RETURN_IF_ERROR(
        reader->ParseEntry(rows[i].first, rows[i].second).WithContext(StrCat(path, ", entry ", i)));
  }
  return reader;
}

Status BundleReader::ParseEntry(const std::string& key, const std::string& bytes) {
  ASSIGN_OR_RETURN(const OwnedMessage message,
                   ParseMessage(Pb::Descriptor(), std::string_view(bytes)));
  Entry entry;
  const int64_t dtype = message->GetInt(Pb::kDtype);
  if (!IsValidDType(static_cast<int>(dtype))) return DataLoss("unknown element type ", dtype);
  entry.dtype = static_cast<DType>(dtype);
  ASSIGN_OR_RETURN(entry.shape, ShapeFromProto(message->GetMessage(Pb::kShape)));
  entry.shard = static_cast<int>(message->GetInt(Pb::kShardId));
  entry.offset = static_cast<uint64_t>(message->GetInt(Pb::kOffset));
  entry.size = static_cast<uint64_t>(message->GetInt(Pb::kSize));
  entry.crc = static_cast<uint32_t>(message->GetUint(Pb::kCrc32c));
  for (const Message* slice : message->Messages(Pb::kSlices)) {
    ASSIGN_OR_RETURN(TensorSlice parsed, TensorSlice::FromProto(*slice));
    RETURN_IF_ERROR(parsed.Resolve(entry.shape).status());
    entry.slices.push_back(std::move(parsed));
  }
  if (entry.shard < 0 || entry.shard >= num_shards_) {
    return DataLoss("data file ", entry.shard, " of ", num_shards_, " does not exist");
  }
  entries_[key] = std::move(entry);
  return OkStatus();
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
  const auto elements = static_cast<uint64_t>(shape.num_elements());
  // A string has at least the byte of its length. Divided, since the product may not fit.
  const uint64_t each = entry.dtype == DType::kString ? 1 : DTypeSize(entry.dtype);
  const bool fits = IsPlain(entry.dtype) ? entry.size % each == 0 && entry.size / each == elements
                                         : entry.size >= elements;
  if (!fits) {
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
  WireReader reader(bytes);
  std::string fixed;
  std::vector<uint64_t> lengths(static_cast<size_t>(value.num_elements()));
  for (uint64_t& length : lengths) {
    if (!reader.ReadVarint(&length) || length > bytes.size()) {
      return DataLoss(path, ": damaged string lengths of tensor '", key, "'");
    }
    if (length <= UINT32_MAX) {
      AppendFixed32(fixed, static_cast<uint32_t>(length));
    } else {
      AppendFixed64(fixed, length);
    }
  }
  size_t at = reader.offset();
  uint32_t crc = Crc32c(fixed);
  if (bytes.size() - at < 4 || LoadFixed32(bytes.data() + at) != MaskCrc32c(crc)) {
    return DataLoss(path, ": the string lengths of tensor '", key, "' do not match their checksum");
  }
  crc = ExtendCrc32c(crc, std::string_view(bytes).substr(at));
  if (MaskCrc32c(crc) != entry.crc)
    return DataLoss(path, ": tensor '", key, "' does not match its checksum");
  at += 4;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > bytes.size() - at) return DataLoss(path, ": tensor '", key, "' ends early");
    value.mutable_data<std::string>()[i].assign(bytes, at, lengths[i]);
    at += lengths[i];
  }
  return OkStatus();
}

// The pieces that make up `wanted` (resolved). All are known to lie in their files, so that what is
// allocated for them is there.
Result<std::vector<BundleReader::Piece>> BundleReader::PiecesOf(std::string_view name,
                                                                const Entry& entry,
                                                                const TensorSlice& wanted) const {
  ASSIGN_OR_RETURN(const Shape shape, wanted.SliceShape(entry.shape));
  const auto asked = static_cast<uint64_t>(shape.num_elements());
  std::vector<Piece> pieces;
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
    if (covered > asked) {
      return DataLoss("checkpoint '", prefix_, "': slices of tensor '", name, "' overlap");
    }
    pieces.push_back(std::move(piece));
  }
  if (covered < asked) {
    return NotFound("checkpoint '", prefix_, "' holds only ", covered, " of the ", asked,
                    " elements asked for of tensor '", name, "'");
  }
  return pieces;
}

Result<Tensor> BundleReader::Assemble(std::string_view name, const Entry& entry,
                                      const TensorSlice& wanted, Allocator& allocator) const {
  RETURN_IF_ERROR(CheckHasSlices(name, entry.dtype));
  ASSIGN_OR_RETURN(const std::vector<Piece> pieces, PiecesOf(name, entry, wanted));
  ASSIGN_OR_RETURN(const Shape shape, wanted.SliceShape(entry.shape));
  ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(allocator, entry.dtype, shape));
  // As many elements as are wanted may still lie one over the other.
  std::vector<bool> filled(static_cast<size_t>(shape.num_elements()));
  for (const Piece& piece : pieces) {
    ASSIGN_OR_RETURN(const Tensor part,
                     ReadEntry(piece.name, *piece.entry, piece.shape, allocator));
    CopyBox(part, piece.box, value, wanted, piece.common);
    ForRuns(piece.box, wanted, piece.common, [&](size_t, size_t into, size_t n) {
      std::fill_n(filled.begin() + static_cast<ptrdiff_t>(into), n, true);
    });
  }
  if (std::find(filled.begin(), filled.end(), false) != filled.end()) {
    return DataLoss("checkpoint '", prefix_, "': slices of tensor '", name, "' overlap");
  }
  return value;
}

Result<Tensor> BundleReader::Read(std::string_view name, Allocator& allocator) const {
  ASSIGN_OR_RETURN(const Entry* entry, Require(name));
  if (entry->slices.empty()) return ReadEntry(std::string(name), *entry, entry->shape, allocator);
  TensorSlice whole;
  whole.extents.resize(static_cast<size_t>(entry->shape.rank()));
  ASSIGN_OR_RETURN(const TensorSlice wanted, whole.Resolve(entry->shape));
  return Assemble(name, *entry, wanted, allocator);
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
  TensorSlice all;
  all.extents.resize(static_cast<size_t>(entry->shape.rank()));
  ASSIGN_OR_RETURN(const TensorSlice box, all.Resolve(entry->shape));
  if (shape.num_elements() > 0) CopyBox(whole, box, value, wanted, wanted);
  return value;
}

}  // namespace thalweg
