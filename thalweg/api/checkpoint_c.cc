// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that read checkpoints, and frame the records of files.
#include "thalweg/api/handles.h"
#include "thalweg/files/checkpoint_listing.h"
#include "thalweg/io/checkpoint_reader.h"
#include "thalweg/io/new_event_file.h"
#include "thalweg/io/record_framing.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

struct TwEventFile {
  std::unique_ptr<WritableFile> file;
};

struct TwCheckpoint {
  PosixFileSystem fs;
  std::string path;
  AllocatorPtr allocator = MakeCpuAllocator();
  std::unique_ptr<CheckpointReader> reader;
};

namespace {

Result<const CheckpointReader::Entry*> EntryOf(const TwCheckpoint* checkpoint, int32_t i) {
  RETURN_IF_ERROR(RequireAll({{"checkpoint", checkpoint}}));
  const auto& tensors = checkpoint->reader->tensors();
  if (i < 0 || static_cast<size_t>(i) >= tensors.size()) {
    return InvalidArgument("there is no tensor ", i, " in a checkpoint of ", tensors.size());
  }
  return &tensors[static_cast<size_t>(i)];
}

std::string_view BytesOf(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

}  // namespace

extern "C" {

TwCheckpoint* tw_checkpoint_open(const char* path, TwStatus* status) {
  return GuardPointer<TwCheckpoint>(status, [&]() -> Result<TwCheckpoint*> {
    RETURN_IF_ERROR(RequireAll({{"path", path}}));
    auto checkpoint = std::make_unique<TwCheckpoint>();
    checkpoint->path = path;
    ASSIGN_OR_RETURN(checkpoint->reader, CheckpointReader::Open(checkpoint->fs, path));
    return checkpoint.release();
  });
}

void tw_checkpoint_free(TwCheckpoint* checkpoint) { delete checkpoint; }

int32_t tw_checkpoint_num_tensors(const TwCheckpoint* checkpoint) {
  return checkpoint == nullptr ? 0 : static_cast<int32_t>(checkpoint->reader->tensors().size());
}

TwCode tw_checkpoint_tensor(const TwCheckpoint* checkpoint, int32_t i, TwCheckpointTensor* tensor,
                            TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"tensor", tensor}}));
    ASSIGN_OR_RETURN(const CheckpointReader::Entry* entry, EntryOf(checkpoint, i));
    *tensor = {entry->name.data(), entry->name.size(), static_cast<TwDataType>(entry->dtype),
               entry->shape.rank(), entry->shape.dims().data()};
    return OkStatus();
  });
}

TwTensor* tw_checkpoint_read(const TwCheckpoint* checkpoint, int32_t i, TwStatus* status) {
  return GuardPointer<TwTensor>(status, [&]() -> Result<TwTensor*> {
    ASSIGN_OR_RETURN(const CheckpointReader::Entry* entry, EntryOf(checkpoint, i));
    ASSIGN_OR_RETURN(Tensor value, checkpoint->reader->Read(entry->name, *checkpoint->allocator));
    return NewTensor(std::move(value));
  });
}

TwBuffer* tw_checkpoint_list(const TwCheckpoint* checkpoint, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"checkpoint", checkpoint}}));
    return NewBuffer(ListCheckpoint(*checkpoint->reader, checkpoint->path));
  });
}

TwBuffer* tw_checkpoint_show(const TwCheckpoint* checkpoint, const char* name, int64_t limit,
                             TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"checkpoint", checkpoint}, {"name", name}}));
    ASSIGN_OR_RETURN(std::string text, ShowTensor(*checkpoint->reader, name, limit));
    return NewBuffer(std::move(text));
  });
}

TwBuffer* tw_tensor_statistics(const TwTensor* tensor, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"tensor", tensor}}));
    return NewBuffer(DescribeTensor(tensor->tensor));
  });
}

TwEventFile* tw_event_file_new(const char* folder, const char* suffix, TwStatus* status) {
  return GuardPointer<TwEventFile>(status, [&]() -> Result<TwEventFile*> {
    RETURN_IF_ERROR(RequireAll({{"folder", folder}, {"suffix", suffix}}));
    PosixFileSystem fs;
    auto file = std::make_unique<TwEventFile>();
    ASSIGN_OR_RETURN(file->file, NewEventFile(fs, folder, suffix));
    return file.release();
  });
}

void tw_event_file_free(TwEventFile* file) { delete file; }

const char* tw_event_file_path(const TwEventFile* file) {
  return file == nullptr ? "" : file->file->path().c_str();
}

TwCode tw_event_file_append(TwEventFile* file, const void* data, size_t size, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"file", file}}));
    if (size > 0) RETURN_IF_ERROR(RequireAll({{"data", data}}));
    return file->file->AppendWhole({static_cast<const char*>(data), size});
  });
}

TwBuffer* tw_record_frame(const void* data, size_t size, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    if (size > 0) RETURN_IF_ERROR(RequireAll({{"data", data}}));
    return NewBuffer(FrameRecord(BytesOf(data, size)));
  });
}

TwCode tw_record_length(const void* header, uint64_t at, uint64_t* length, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"header", header}, {"length", length}}));
    ASSIGN_OR_RETURN(*length, RecordLength(BytesOf(header, kRecordHeaderBytes), at));
    return OkStatus();
  });
}

TwCode tw_record_check(const void* data, size_t size, uint64_t at, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"data", data}}));
    return CheckRecord(BytesOf(data, size), at);
  });
}

}  // extern "C"
