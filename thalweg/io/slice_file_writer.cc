// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/slice_file_writer.h"

#include "thalweg/base/first_error.h"
#include "thalweg/io/checkpoint_files.h"
#include "thalweg/io/table.h"
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

// A message must stay below 2 GiB; its numbers take up to ten bytes each.
constexpr size_t kMaxValueBytes = (size_t{1} << 31) - 4096;

}  // namespace

bool IsSliceFileType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kQint8:
    case DType::kQuint8:
    case DType::kQint32:
    case DType::kHalf:
    case DType::kFloat:
    case DType::kDouble:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kString:
      return true;
    default:
      return false;
  }
}

Result<std::unique_ptr<SliceFileWriter>> SliceFileWriter::Create(FileSystem& fs, std::string path) {
  RETURN_IF_ERROR(fs.MakeDirectories(ParentDirectory(path)));
  std::unique_ptr<SliceFileWriter> writer(new SliceFileWriter(fs, std::move(path)));
  writer->meta_ = OwnedMessage(Slices::Descriptor());
  return writer;
}

Status SliceFileWriter::Add(std::string_view name, const Tensor& value) {
  TensorSlice whole;
  whole.extents.resize(static_cast<size_t>(value.shape().rank()));
  return AddSlice(name, value.shape(), whole, value);
}

Result<Message*> SliceFileWriter::MetaOf(std::string_view name, const Shape& whole, DType dtype) {
  const auto known = tensors_.find(name);
  if (known != tensors_.end()) {
    const auto& [meta, shape] = known->second;
    if (shape != whole || meta->GetInt(TensorMeta::kType) != static_cast<int64_t>(dtype)) {
      return InvalidArgument("tensor '", name, "' has slices of shapes ", shape, " and ", whole,
                             ", of types ", static_cast<DType>(meta->GetInt(TensorMeta::kType)),
                             " and ", dtype);
    }
    return meta;
  }
  Message* const meta = meta_->Mutable(Slices::kMeta)->Add(Meta::kTensor);
  meta->SetString(TensorMeta::kName, name);
  ShapeToProto(whole, meta->Mutable(TensorMeta::kShape));
  meta->SetInt(TensorMeta::kType, static_cast<int64_t>(dtype));
  tensors_.emplace(name, std::pair(meta, whole));
  return meta;
}

Status SliceFileWriter::AddSlice(std::string_view name, const Shape& whole,
                                 const TensorSlice& slice, const Tensor& value) {
  if (name.empty()) return InvalidArgument("a tensor in a checkpoint needs a name");
  if (!IsSliceFileType(value.dtype())) {
    return Unimplemented("saving '", name, "': checkpoints of format V1 have no tensors of type ",
                         value.dtype());
  }
  if (TensorWireBytes(value) > kMaxValueBytes) {
    return InvalidArgument("saving '", name, "': ", TensorWireBytes(value),
                           " bytes are too many for format V1, which takes up to 2 GiB a tensor; "
                           "format V2 has no such limit");
  }
  ASSIGN_OR_RETURN(const Shape shape, slice.SliceShape(whole));
  if (shape != value.shape()) {
    return InvalidArgument("slice '", slice.ToString(), "' of tensor '", name, "' of shape ", whole,
                           " has shape ", shape, ", the value ", value.shape());
  }
  std::string key = SliceKey(name, slice);
  if (records_.contains(key)) {
    return InvalidArgument("slice '", slice.ToString(), "' of tensor '", name,
                           "' is saved twice in '", path_, "'");
  }
  ASSIGN_OR_RETURN(Message * meta, MetaOf(name, whole, value.dtype()));
  slice.ToProto(meta->Add(TensorMeta::kSlice));
  records_.emplace(std::move(key), Record{std::string(name), slice, value});
  return OkStatus();
}

Status SliceFileWriter::WriteTable(WritableFile& file) const {
  TableWriter table(file);
  ASSIGN_OR_RETURN(const std::string meta, Serialize(*meta_));
  RETURN_IF_ERROR(table.Add("", meta));
  for (const auto& [key, record] : records_) {
    OwnedMessage message(Slices::Descriptor());
    Message* const slice = message->Mutable(Slices::kData);
    slice->SetString(Slice::kName, record.name);
    record.slice.ToProto(slice->Mutable(Slice::kSlice));
    RETURN_IF_ERROR(ValuesToProto(record.value, slice->Mutable(Slice::kData)));
    ASSIGN_OR_RETURN(const std::string bytes, Serialize(*message));
    RETURN_IF_ERROR(table.Add(key, bytes));
  }
  RETURN_IF_ERROR(table.Finish());
  return file.Sync();
}

Status SliceFileWriter::Finish() {
  meta_->Mutable(Slices::kMeta)->Mutable(Meta::kVersions)->SetInt(pb::VersionDef::kProducer, 1);
  SweepLeftovers(fs_, ParentDirectory(path_));
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                   fs_.CreateTemporary(path_ + ".tempstate"));
  Status status = WriteTable(*file);
  if (status.ok()) status = fs_.Rename(file->path(), path_);
  if (!status.ok()) fs_.RemoveFile(file->path()).IgnoreError();
  KeepFirstError(file->Close(), &status);
  return status;
}

}  // namespace thalweg
