// SPDX-License-Identifier: Apache-2.0
// BundleWriter: writes tensors into a checkpoint of format V2 (TensorBundle): PREFIX.index, a
// sorted table from tensor name to BundleEntryProto, and PREFIX.data-00000-of-00001, their bytes
// one after the other.
//
//   ASSIGN_OR_RETURN(auto writer, BundleWriter::Create(fs, "/models/model-7"));
//   RETURN_IF_ERROR(writer->Add("w", tensor));
//   RETURN_IF_ERROR(writer->Finish());        // until then nothing is visible under PREFIX
//
// Files are written under temporary names, synced, and renamed by Finish; a writer that is dropped
// removes them.
// Ownership: owns its temporary files until Finish; the file system outlives it, tensors are not
// kept.
// Threads: one at a time.
// Errors: InvalidArgument for a name given twice, Unimplemented for resources and for variants
// that have no form outside of their process, what the file system says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

std::string BundleIndexPath(std::string_view prefix);
std::string BundleDataPath(std::string_view prefix, int shard, int num_shards);
// How many data files the checkpoint has that is there; 0: none, or none that can be read.
int NumShardsAt(FileSystem& fs, const std::string& prefix);

class BundleWriter {
 public:
  static Result<std::unique_ptr<BundleWriter>> Create(FileSystem& fs, std::string prefix);
  ~BundleWriter();

  Status Add(std::string_view name, const Tensor& value);
  // One slice of the tensor `name` of shape `whole`; the checkpoint then holds the tensor in
  // pieces.
  Status AddSlice(std::string_view name, const Shape& whole, const TensorSlice& slice,
                  const Tensor& value);
  Status Finish();
  // Called now and then with the bytes written since.
  void set_progress(std::function<void(size_t)> progress) { progress_ = std::move(progress); }

 private:
  BundleWriter(FileSystem& fs, std::string prefix) : fs_(fs), prefix_(std::move(prefix)) {}
  // Appends the bytes and fills the entry.
  Status WriteValue(const Tensor& value, Message* entry);
  Status WriteStrings(const Tensor& value, uint32_t* crc);
  Status Append(std::string_view bytes, uint32_t* crc);

  FileSystem& fs_;
  const std::string prefix_;
  std::unique_ptr<WritableFile> data_;
  uint64_t size_ = 0;
  std::function<void(size_t)> progress_;
  std::map<std::string, OwnedMessage> entries_;
  bool finished_ = false;
};

// Joins checkpoints (shards written by several tasks) into one at `prefix`: data files are renamed,
// indexes merged. FailedPrecondition when two hold the same whole tensor.
Status MergeBundles(FileSystem& fs, const std::vector<std::string>& prefixes,
                    const std::string& prefix);

}  // namespace thalweg
