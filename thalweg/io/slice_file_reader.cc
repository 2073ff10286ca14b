// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/slice_file_reader.h"

#include <algorithm>

#include "thalweg/io/matching_paths.h"
#include "thalweg/io/slice_copy.h"
#include "thalweg/io/slice_file_writer.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"
#include "thalweg/tensor/values_proto.h"

namespace thalweg {
namespace {

namespace Slices = pb::SavedTensorSlices;
namespace Meta = pb::SavedTensorSliceMeta;
namespace TensorMeta = pb::SavedSliceMeta;
namespace Slice = pb::SavedSlice;

// The version of the format that is read here.
constexpr int64_t kVersion = 1;

int64_t NumElements(const TensorSlice& resolved) {
  int64_t elements = 1;
  for (const TensorSlice::Extent& extent : resolved.extents) elements *= extent.length;
  return elements;
}

}  // namespace

Result<std::unique_ptr<SliceFileReader>> SliceFileReader::Open(FileSystem& fs,
                                                               std::string pattern) {
  std::unique_ptr<SliceFileReader> reader(new SliceFileReader(std::move(pattern)));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, MatchingPaths(fs, reader->pattern_));
  if (paths.empty()) {
    return NotFound(
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
        reader->pattern_);
  }
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(reader->OpenFile(fs, path));
  }
  return reader;
}

Status SliceFileReader::OpenFile(FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  ASSIGN_OR_RETURN(TableReader table, TableReader::Open(*file, path));
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, table.Find(""));
  if (!bytes) return DataLoss(path, " is no checkpoint: it has no header");
  Result<OwnedMessage> header = ParseMessage(Slices::Descriptor(), std::string_view(*bytes));
  if (!header.ok()) return DataLoss(path, ": damaged header: ", header.status().message());
  const Message& meta = (*header)->GetMessage(Slices::kMeta);
  const int64_t needed = meta.GetMessage(Meta::kVersions).GetInt(pb::VersionDef::kMinConsumer);
  if (needed > kVersion) {
    return InvalidArgument(path, ": the checkpoint is for readers of version ", needed,
                           " and later, this one has version ", kVersion);
  }
  files_.push_back({path, std::move(file), std::move(table)});
  for (const Message* tensor : meta.Messages(Meta::kTensor)) {
    RETURN_IF_ERROR(AddTensor(*tensor).WithContext(path));
  }
  return OkStatus();
}

Status SliceFileReader::AddTensor(const Message& meta) {
  const std::string name(meta.GetString(TensorMeta::kName));
  const int64_t dtype = meta.GetInt(TensorMeta::kType);
  if (!IsValidDType(static_cast<int>(dtype))) {
    return DataLoss("tensor '", name, "' has the unknown element type ", dtype);
  }
  const Result<Shape> shape = ShapeFromProto(meta.GetMessage(TensorMeta::kShape));
  if (!shape.ok()) return DataLoss("tensor '", name, "': ", shape.status().message());
  Entry& entry = entries_[name];
  if (entry.dtype == DType::kInvalid) {
    entry.dtype = static_cast<DType>(dtype);
    entry.shape = *shape;
  }
  if (entry.dtype != static_cast<DType>(dtype) || entry.shape != *shape) {
    return DataLoss("tensor '", name, "' is ", static_cast<DType>(dtype), *shape,
                    ", in another file ", entry.dtype, entry.shape);
  }
  for (const Message* slice : meta.Messages(TensorMeta::kSlice)) {
    Result<TensorSlice> parsed = TensorSlice::FromProto(*slice);
    const Status fits = parsed.ok() ? parsed->Resolve(*shape).status() : parsed.status();
    if (!fits.ok()) return DataLoss("tensor '", name, "': ", fits.message());
    entry.slices.emplace_back(files_.size() - 1, *std::move(parsed));
  }
  return OkStatus();
}

const SliceFileReader::Entry* SliceFileReader::Find(std::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second;
}

std::vector<std::string> SliceFileReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

// A record must hold all its values, so that what is allocated for it is there.
Result<Tensor> SliceFileReader::ReadRecord(std::string_view name, const Entry& entry, size_t file,
                                           const TensorSlice& slice, Allocator& allocator) const {
  const std::string where =
      StrCat(files_[file].path, ": slice '", slice.ToString(), "' of tensor '", name, "'");
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                   files_[file].table.Find(SliceKey(name, slice)));
  if (!bytes) return DataLoss(where, " is missing");
  Result<OwnedMessage> record = ParseMessage(Slices::Descriptor(), std::string_view(*bytes));
  if (!record.ok()) return DataLoss(where, ": ", record.status().message());
  Message* const saved = (*record)->Mutable(Slices::kData);
  if (saved->GetString(Slice::kName) != name) {
    return DataLoss(where, " is one of tensor '", saved->GetString(Slice::kName), "'");
  }
  ASSIGN_OR_RETURN(const Shape shape, slice.SliceShape(entry.shape));
  Message* const values = saved->Mutable(Slice::kData);
  if (!HasValues(*values, entry.dtype, shape.num_elements())) {
    return DataLoss(where, " has not the ", shape.num_elements(), " values of type ", entry.dtype,
                    " that shape ", shape, " needs");
  }
  values->SetInt(pb::TensorProto::kDtype, static_cast<int64_t>(entry.dtype));
  values->Clear(pb::TensorProto::kTensorShape);
  ShapeToProto(shape, values->Mutable(pb::TensorProto::kTensorShape));
  Result<Tensor> value = TensorFromProto(*values, {.allocator = &allocator});
  if (!value.ok()) return value.status().WithContext(where);
  return value;
}

Result<std::vector<SliceFileReader::Piece>> SliceFileReader::PiecesOf(std::string_view name,
                                                                      const Entry& entry,
                                                                      const TensorSlice& wanted,
                                                                      Allocator& allocator) const {
  std::vector<Piece> pieces;
  int64_t covered = 0;
  const int64_t asked = NumElements(wanted);
  for (const auto& [file, slice] : entry.slices) {
    Piece piece;
    ASSIGN_OR_RETURN(piece.box, slice.Resolve(entry.shape));
    if (!Intersect(piece.box, wanted, &piece.common)) continue;
    covered += NumElements(piece.common);
    if (covered > asked) {
      return DataLoss("checkpoint '", pattern_, "': slices of tensor '", name, "' overlap");
    }
    ASSIGN_OR_RETURN(piece.value, ReadRecord(name, entry, file, slice, allocator));
    pieces.push_back(std::move(piece));
  }
  if (covered < asked) {
    return InvalidArgument("checkpoint '", pattern_, "' holds only ", covered, " of the ", asked,
                           " elements asked for of tensor '", name, "'");
  }
  return pieces;
}

Result<Tensor> SliceFileReader::Read(std::string_view name, Allocator& allocator) const {
  TensorSlice whole;
  const Entry* const entry = Find(name);
  if (entry != nullptr) whole.extents.resize(static_cast<size_t>(entry->shape.rank()));
  return ReadSlice(name, whole, allocator);
}

Result<Tensor> SliceFileReader::ReadSlice(std::string_view name, const TensorSlice& slice,
                                          Allocator& allocator) const {
  const Entry* const entry = Find(name);
  if (entry == nullptr) {
    return NotFound("Tensor name \"", name, "\" not found in checkpoint files '", pattern_,
                    "', which hold ", entries_.size(), " tensors");
  }
  if (!IsSliceFileType(entry->dtype)) {
    return Unimplemented("tensor '", name, "' has type ", entry->dtype,
                         ", which cannot be restored");
  }
  ASSIGN_OR_RETURN(const TensorSlice wanted, slice.Resolve(entry->shape));
  ASSIGN_OR_RETURN(std::vector<Piece> pieces, PiecesOf(name, *entry, wanted, allocator));
  if (pieces.size() == 1 && pieces[0].box == wanted) return std::move(pieces[0].value);
  ASSIGN_OR_RETURN(const Shape shape, wanted.SliceShape(entry->shape));
  ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(allocator, entry->dtype, shape));
  // As many elements as are wanted may still lie one over the other.
  std::vector<bool> filled(static_cast<size_t>(shape.num_elements()));
  for (const Piece& piece : pieces) {
    CopyBox(piece.value, piece.box, value, wanted, piece.common);
    ForRuns(piece.box, wanted, piece.common, [&](size_t, size_t into, size_t n) {
      std::fill_n(filled.begin() + static_cast<ptrdiff_t>(into), n, true);
    });
  }
  if (std::find(filled.begin(), filled.end(), false) != filled.end()) {
    return DataLoss("checkpoint '", pattern_, "': slices of tensor '", name, "' overlap");
  }
  return value;
}

}  // namespace thalweg
