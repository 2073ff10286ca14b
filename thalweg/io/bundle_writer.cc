// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/bundle_writer.h"

#include <cstdio>

#include "thalweg/base/crc32c.h"
#include "thalweg/io/bundle_entry.h"
#include "thalweg/io/bundle_variants.h"
#include "thalweg/io/checkpoint_files.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/table.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace Entry = pb::BundleEntryProto;

constexpr size_t kPieceBytes = size_t{256} << 10;

std::string HeaderBytes(int num_shards) {
  OwnedMessage header(pb::BundleHeaderProto::Descriptor());
  header->SetInt(pb::BundleHeaderProto::kNumShards, num_shards);
  header->Mutable(pb::BundleHeaderProto::kVersion)->SetInt(pb::VersionDef::kProducer, 1);
  return *Serialize(*header);
}

using Entries = std::map<std::string, std::string>;

// An index under a temporary name, on the disk; it is removed again unless it gets its own.
class NewIndex {
 public:
  static Result<NewIndex> Write(FileSystem& fs, const std::string& prefix, int num_shards,
                                const Entries& entries) {
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                     fs.CreateTemporary(BundleIndexPath(prefix) + ".tempstate"));
    NewIndex index(fs, std::move(file));
    TableWriter table(*index.file_);
    RETURN_IF_ERROR(table.Add("", HeaderBytes(num_shards)));
    for (const auto& [key, value] : entries) RETURN_IF_ERROR(table.Add(key, value));
    RETURN_IF_ERROR(table.Finish());
    RETURN_IF_ERROR(index.file_->Sync());
    return index;
  }
  NewIndex(NewIndex&&) = default;
  ~NewIndex() {
    if (file_ != nullptr) fs_->RemoveFile(file_->path()).IgnoreError();
  }

  // Renamed before it is closed: nobody may take it for a file that was left.
  Status Place(const std::string& prefix) {
    RETURN_IF_ERROR(fs_->Rename(file_->path(), BundleIndexPath(prefix)));
    const std::unique_ptr<WritableFile> file = std::move(file_);
    return file->Close();
  }

 private:
  NewIndex(FileSystem& fs, std::unique_ptr<WritableFile> file) : fs_(&fs), file_(std::move(file)) {}
  FileSystem* fs_;
  std::unique_ptr<WritableFile> file_;
};

void RemoveShards(FileSystem& fs, const std::string& prefix, int num_shards) {
  for (int s = 0; s < num_shards; ++s) {
    fs.RemoveFile(BundleDataPath(prefix, s, num_shards)).IgnoreError();
  }
}

// Gives data files, which are on the disk, their names at `prefix`, and writes the index. A
// checkpoint that stands there is whole until the new one is: where both have as many data files,
// hence of the same names, the new ones first get the names that they had if they were one more.
Status Publish(FileSystem& fs, const std::string& prefix, const std::vector<std::string>& data,
               const Entries& entries) {
  const int shards = static_cast<int>(data.size());
  const int before = NumShardsAt(fs, prefix);
  const int first = before == shards ? shards + 1 : shards;
  ASSIGN_OR_RETURN(NewIndex index, NewIndex::Write(fs, prefix, first, entries));
  Status placed;
  for (int s = 0; placed.ok() && s < shards; ++s) {
    placed = fs.Rename(data[static_cast<size_t>(s)], BundleDataPath(prefix, s, first));
  }
  if (placed.ok()) placed = index.Place(prefix);
  if (!placed.ok()) {
    // Back to their names, which the indexes of parts that are merged speak of.
    for (int s = 0; s < shards; ++s) {
      fs.Rename(BundleDataPath(prefix, s, first), data[static_cast<size_t>(s)]).IgnoreError();
    }
    return placed;
  }
  if (first == shards) {
    RemoveShards(fs, prefix, before);
    return OkStatus();
  }
  // From here on the new one is there; what fails only leaves it under these names.
  Result<NewIndex> last = NewIndex::Write(fs, prefix, shards, entries);
  if (!last.ok()) return OkStatus();
  for (int s = 0; s < shards; ++s) {
    const std::string path = BundleDataPath(prefix, s, shards);
    fs.RemoveFile(path).IgnoreError();
    if (!fs.Link(BundleDataPath(prefix, s, first), path).ok()) return OkStatus();
  }
  if (last->Place(prefix).ok()) RemoveShards(fs, prefix, first);
  return OkStatus();
}

}  // namespace

std::string BundleIndexPath(std::string_view prefix) { return StrCat(prefix, ".index"); }

std::string BundleDataPath(std::string_view prefix, int shard, int num_shards) {
  char suffix[40];
  std::snprintf(suffix, sizeof(suffix), ".data-%05d-of-%05d", shard, num_shards);
  return StrCat(prefix, suffix);
}

int NumShardsAt(FileSystem& fs, const std::string& prefix) {
  const Result<std::unique_ptr<RandomAccessFile>> file = fs.OpenForReading(BundleIndexPath(prefix));
  if (!file.ok()) return 0;
  const auto rows = TableReader::Open(**file, BundleIndexPath(prefix));
  if (!rows.ok()) return 0;
  const Result<std::optional<std::string>> header = rows->Find("");
  if (!header.ok() || !header->has_value()) return 0;
  const Result<int> shards = ParseBundleHeader(**header);
  return shards.ok() ? *shards : 0;
}

Result<std::unique_ptr<BundleWriter>> BundleWriter::Create(FileSystem& fs, std::string prefix) {
  RETURN_IF_ERROR(fs.MakeDirectories(ParentDirectory(prefix)));
  SweepLeftovers(fs, ParentDirectory(prefix));
  std::unique_ptr<BundleWriter> writer(new BundleWriter(fs, std::move(prefix)));
  ASSIGN_OR_RETURN(writer->data_, fs.CreateTemporary(writer->prefix_ + ".tempstate"));
  return writer;
}

BundleWriter::~BundleWriter() {
  if (data_ != nullptr && !finished_) fs_.RemoveFile(data_->path()).IgnoreError();
}

Status BundleWriter::Append(std::string_view bytes, uint32_t* crc) {
  size_ += bytes.size();
  while (!bytes.empty()) {  // in pieces that are still in the cache when they are copied
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    *crc = ExtendCrc32c(*crc, piece);
    RETURN_IF_ERROR(data_->Append(piece));
    if (progress_) progress_(piece.size());
    bytes.remove_prefix(piece.size());
  }
  return OkStatus();
}

// Lengths as varints, a checksum of the lengths (as fixed-width numbers), then the strings.
Status BundleWriter::WriteStrings(const Tensor& value, uint32_t* crc) {
  std::string lengths, fixed;
  for (const std::string& text : value.flat<std::string>()) {
    AppendVarint(lengths, text.size());
    if (text.size() <= UINT32_MAX) {
      AppendFixed32(fixed, static_cast<uint32_t>(text.size()));
    } else {
      AppendFixed64(fixed, text.size());
    }
  }
  *crc = Crc32c(fixed);
  size_ += lengths.size();
  RETURN_IF_ERROR(data_->Append(lengths));
  std::string checksum;
  AppendFixed32(checksum, MaskCrc32c(*crc));
  RETURN_IF_ERROR(Append(checksum, crc));
  std::string pending;  // small strings are written together
  for (const std::string& text : value.flat<std::string>()) {
    pending += text;
    if (pending.size() < 65536) continue;
    RETURN_IF_ERROR(Append(pending, crc));
    pending.clear();
  }
  return Append(pending, crc);
}

Status BundleWriter::WriteValue(const Tensor& value, Message* entry) {
  const uint64_t offset = size_;
  uint32_t crc = 0;
  if (value.dtype() == DType::kString) {
    RETURN_IF_ERROR(WriteStrings(value, &crc));
  } else if (value.dtype() == DType::kVariant) {
    ASSIGN_OR_RETURN(const std::string bytes, BundleVariants(value, &crc));
    size_ += bytes.size();
    RETURN_IF_ERROR(data_->Append(bytes));
  } else if (IsPlain(value.dtype())) {
    RETURN_IF_ERROR(Append({static_cast<const char*>(value.raw_data()), value.bytes()}, &crc));
  } else {
    return Unimplemented("tensors of type ", value.dtype(), " cannot be saved");
  }
  entry->SetInt(Entry::kDtype, static_cast<int64_t>(value.dtype()));
  ShapeToProto(value.shape(), entry->Mutable(Entry::kShape));
  entry->SetInt(Entry::kOffset, static_cast<int64_t>(offset));
  entry->SetInt(Entry::kSize, static_cast<int64_t>(size_ - offset));
  entry->SetUint(Entry::kCrc32c, MaskCrc32c(crc));
  return OkStatus();
}

Status BundleWriter::Add(std::string_view name, const Tensor& value) {
  if (name.empty()) return InvalidArgument("a tensor in a checkpoint needs a name");
  const std::string key(name);
  if (entries_.contains(key))
    return InvalidArgument("tensor '", name, "' is saved twice in '", prefix_, "'");
  OwnedMessage entry(Entry::Descriptor());
  RETURN_IF_ERROR(WriteValue(value, &*entry).WithContext(StrCat("saving '", name, "'")));
  entries_.emplace(key, std::move(entry));
  return OkStatus();
}

namespace {

// Slices of one name are of one tensor.
Status CheckSameTensor(std::string_view name, const Message& entry, const Shape& shape,
                       DType dtype) {
  ASSIGN_OR_RETURN(const Shape known, ShapeFromProto(entry.GetMessage(Entry::kShape)));
  const auto known_dtype = static_cast<DType>(entry.GetInt(Entry::kDtype));
  if (known == shape && known_dtype == dtype) {
    if (!entry.Messages(Entry::kSlices).empty() || entry.GetInt(Entry::kSize) == 0) {
      return OkStatus();
    }
    return InvalidArgument("tensor '", name, "' is saved as a whole and in slices");
  }
  return InvalidArgument("tensor '", name, "' has slices of a tensor of type ", known_dtype,
                         " and shape ", known, " and of one of type ", dtype, " and shape ", shape);
}

}  // namespace

Status BundleWriter::AddSlice(std::string_view name, const Shape& whole, const TensorSlice& slice,
                              const Tensor& value) {
  if (name.empty()) return InvalidArgument("a tensor in a checkpoint needs a name");
  ASSIGN_OR_RETURN(const Shape expected, slice.SliceShape(whole));
  if (expected != value.shape()) {
    return InvalidArgument("slice '", slice.ToString(), "' of tensor '", name, "' of shape ", whole,
                           " has shape ", expected, ", got a value of shape ", value.shape());
  }
  if (expected == whole) return Add(name, value);  // TensorFlow has no slices then either
  if (value.dtype() == DType::kVariant) {
    return Unimplemented("slices of variants cannot be saved, as '", name, "' would be");
  }
  const std::string key(name);
  auto it = entries_.find(key);
  if (it == entries_.end()) {
    OwnedMessage entry(Entry::Descriptor());
    entry->SetInt(Entry::kDtype, static_cast<int64_t>(value.dtype()));
    ShapeToProto(whole, entry->Mutable(Entry::kShape));
    it = entries_.emplace(key, std::move(entry)).first;
  }
  RETURN_IF_ERROR(CheckSameTensor(name, *it->second, whole, value.dtype()));
  RETURN_IF_ERROR(Add(SliceKey(name, slice), value));
  slice.ToProto(it->second->Add(Entry::kSlices));
  return OkStatus();
}

Status BundleWriter::Finish() {
  Entries entries;
  for (const auto& [key, entry] : entries_) {
    ASSIGN_OR_RETURN(entries[key], Serialize(*entry));
  }
  RETURN_IF_ERROR(data_->Sync());
  RETURN_IF_ERROR(Publish(fs_, prefix_, {data_->path()}, entries));
  finished_ = true;
  return data_->Close();
}

namespace {

// Entries of the parts put together; shard ids as the data files will have them.
class Merger {
 public:
  explicit Merger(FileSystem& fs) : fs_(fs) {}

  Status Add(const std::string& part) {
    ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file,
                     fs_.OpenForReading(BundleIndexPath(part)));
    ASSIGN_OR_RETURN(const TableEntries rows, ReadTable(*file, BundleIndexPath(part)));
    if (rows.empty() || !rows.front().first.empty())
      return DataLoss(BundleIndexPath(part), ": no header");
    ASSIGN_OR_RETURN(
        const OwnedMessage header,
        ParseMessage(pb::BundleHeaderProto::Descriptor(), std::string_view(rows.front().second)));
    const int shards = static_cast<int>(header->GetInt(pb::BundleHeaderProto::kNumShards));
    for (size_t i = 1; i < rows.size(); ++i) {
      RETURN_IF_ERROR(AddEntry(part, rows[i].first, rows[i].second));
    }
    for (int s = 0; s < shards; ++s) data_files_.push_back(BundleDataPath(part, s, shards));
    return OkStatus();
  }

  const std::vector<std::string>& data_files() const { return data_files_; }
  Result<Entries> Serialized() const {
    Entries bytes;
    for (const auto& [key, entry] : entries_) {
      ASSIGN_OR_RETURN(bytes[key], Serialize(*entry));
    }
    return bytes;
  }

 private:
  Status AddEntry(const std::string& part, const std::string& key, const std::string& bytes) {
    ASSIGN_OR_RETURN(OwnedMessage entry, ParseMessage(Entry::Descriptor(), bytes));
    const auto it = entries_.find(key);
    if (it == entries_.end()) {
      if (entry->Messages(Entry::kSlices).empty()) {
        entry->SetInt(Entry::kShardId,
                      entry->GetInt(Entry::kShardId) + static_cast<int64_t>(data_files_.size()));
      }
      entries_.emplace(key, std::move(entry));
      return OkStatus();
    }
    if (entry->Messages(Entry::kSlices).empty() || it->second->Messages(Entry::kSlices).empty()) {
      return FailedPrecondition("tensor '", key, "' stands in '", part,
                                "' and in a checkpoint merged before it");
    }
    ASSIGN_OR_RETURN(const Shape shape, ShapeFromProto(entry->GetMessage(Entry::kShape)));
    RETURN_IF_ERROR(
        CheckSameTensor(key, *it->second, shape, static_cast<DType>(entry->GetInt(Entry::kDtype)))
            .WithContext(part));
    for (const Message* slice : entry->Messages(Entry::kSlices))
      it->second->Add(Entry::kSlices)->CopyFrom(*slice);
    return OkStatus();
  }

  FileSystem& fs_;
  std::vector<std::string> data_files_;
  std::map<std::string, OwnedMessage> entries_;
};

}  // namespace

Status MergeBundles(FileSystem& fs, const std::vector<std::string>& prefixes,
                    const std::string& prefix) {
  Merger merger(fs);
  for (const std::string& part : prefixes) RETURN_IF_ERROR(merger.Add(part));
  ASSIGN_OR_RETURN(const auto entries, merger.Serialized());
  RETURN_IF_ERROR(fs.MakeDirectories(ParentDirectory(prefix)));
  RETURN_IF_ERROR(Publish(fs, prefix, merger.data_files(), entries));
  for (const std::string& part : prefixes) {
    if (part != prefix) RETURN_IF_ERROR(fs.RemoveFile(BundleIndexPath(part)));
  }
  return OkStatus();
}

}  // namespace thalweg
