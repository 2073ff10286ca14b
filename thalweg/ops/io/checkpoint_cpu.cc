// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/mutex.h"
#include "thalweg/compute/work.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/checkpoint_files.h"
#include "thalweg/io/checkpoint_reader.h"
#include "thalweg/ops/io/checkpoint_arguments.h"
#include "thalweg/resources/mapped_weights.h"

namespace thalweg {
namespace {

Status CheckArguments(Context& ctx, int64_t tensors) {
  RETURN_IF_ERROR(CheckText(ctx.input(0), 1, "prefix"));
  RETURN_IF_ERROR(CheckText(ctx.input(1), tensors, "tensor_names"));
  return CheckText(ctx.input(2), tensors, "shape_and_slices");
}

Status Write(Context& ctx, const std::string& prefix) {
  const int n = ctx.num_inputs() - 3;
  const auto* names = ctx.input(1).data<std::string>();
  const auto* slices = ctx.input(2).data<std::string>();
  PosixFileSystem fs;
  ASSIGN_OR_RETURN(const auto writer, BundleWriter::Create(fs, prefix));
  for (int i = 0; i < n; ++i) {
    const Tensor& value = ctx.input(3 + i);
    if (slices[i].empty()) {
      RETURN_IF_ERROR(writer->Add(names[i], value));
      continue;
    }
    Shape whole;
    TensorSlice slice;
    RETURN_IF_ERROR(ParseShapeAndSlice(slices[i], &whole, &slice).WithContext(names[i]));
    RETURN_IF_ERROR(writer->AddSlice(names[i], whole, slice, value));
  }
  return writer->Finish();
}

// Where it saved a part of a sharded checkpoint it guards the directory until its next save.
class SaveV2 : public Kernel {
 public:
  explicit SaveV2(const KernelConstruction&) {}
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckArguments(ctx, ctx.num_inputs() - 3));
    const std::string& prefix = ctx.input(0).scalar<std::string>();
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> guard, GuardParts(fs, prefix));
    {
      MutexLock lock(mutex_);
      guard_.swap(guard);
    }
    return Write(ctx, prefix);
  }

 private:
  Mutex mutex_;
  std::unique_ptr<WritableFile> guard_ GUARDED_BY(mutex_);
};

class RestoreV2 : public Kernel {
 public:
  explicit RestoreV2(const KernelConstruction& c) {
    for (int i = 0; i < c.node().num_outputs(); ++i) dtypes_.push_back(c.output_type(i));
  }
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckArguments(ctx, ctx.num_outputs()));
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(const auto reader,
                     CheckpointReader::Open(fs, ctx.input(0).scalar<std::string>()));
    const auto* names = ctx.input(1).data<std::string>();
    const auto* slices = ctx.input(2).data<std::string>();
    const RefPtr<MappedWeights> mapped = MappedWeights::Find(*ctx.step().resources);
    MappedFiles* const files = mapped ? &mapped->files() : nullptr;
    std::vector<Result<Tensor>> values(dtypes_.size(), Internal("not read"));
    RETURN_IF_ERROR(compute::ForShards(ctx.work(), std::ssize(values), [&](int64_t shard) {
      const auto i = static_cast<size_t>(shard);
      values[i] = ReadFrom(*reader, names[i], slices[i], dtypes_[i], ctx.allocator(), files);
      return true;
    }));
    for (size_t i = 0; i < values.size(); ++i) {
      RETURN_IF_ERROR(values[i].status());
      ctx.set_output(static_cast<int>(i), std::move(*values[i]));
    }
    return OkStatus();
  }

 private:
  std::vector<DType> dtypes_;
};

class Merge : public Kernel {
 public:
  explicit Merge(const KernelConstruction& c) {
    const Result<bool> wanted = c.node().Attr<bool>("delete_old_dirs");
    removes_directories_ = wanted.ok() && *wanted;
  }
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckText(ctx.input(0), ctx.input(0).num_elements(), "checkpoint_prefixes"));
    RETURN_IF_ERROR(CheckText(ctx.input(1), 1, "destination_prefix"));
    const auto parts = ctx.input(0).flat<std::string>();
    const std::string& prefix = ctx.input(1).scalar<std::string>();
    PosixFileSystem fs;
    RETURN_IF_ERROR(MergeBundles(fs, {parts.begin(), parts.end()}, prefix));
    for (const std::string& part : parts) {
      // Only what is empty goes; the first part takes a directory that they share.
      if (removes_directories_ && ParentDirectory(part) != ParentDirectory(prefix)) {
        RemovePartsDirectory(fs, std::string(ParentDirectory(part)));
      }
    }
    return OkStatus();
  }

 private:
  bool removes_directories_ = true;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(checkpoint, cpu) {
  registry.Add<SaveV2>("SaveV2", kCpu).Cost(KernelCost::kExpensive);
  registry.Add<RestoreV2>("RestoreV2", kCpu).Cost(KernelCost::kExpensive);
  registry.Add<Merge>("MergeV2Checkpoints", kCpu).Cost(KernelCost::kExpensive);
}
