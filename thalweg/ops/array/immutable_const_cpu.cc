// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/file_system.h"
#include "thalweg/base/mutex.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// The file is read at the first use, whole: a mapped one could shrink under its readers.
class ImmutableConstCpu : public Kernel {
 public:
  ImmutableConstCpu(std::string path, DType dtype, Shape shape)
      : path_(std::move(path)), dtype_(dtype), shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    std::string path;
    ASSIGN_OR_RETURN(path, c.Attr<std::string>("memory_region_name"));
    ASSIGN_OR_RETURN(const PartialShape shape, c.Attr<PartialShape>("shape"));
    const DType dtype = c.output_type(0);
    if (!IsPlain(dtype)) {
      return Unimplemented("Sorry, ", dtype, " is not currently supported for ImmutableConst.");
    }
    if (!shape.IsFullyDefined()) {
      return InvalidArgument("the attribute shape must be fully defined, got ", shape);
    }
    ASSIGN_OR_RETURN(Shape known, Shape::Make(shape.dims()));
    return std::unique_ptr<Kernel>(
        std::make_unique<ImmutableConstCpu>(std::move(path), dtype, std::move(known)));
  }

  Status Compute(Context& ctx) override {
    MutexLock lock(mutex_);
    if (value_.empty()) {
      ASSIGN_OR_RETURN(value_, ReadValue());
    }
    ctx.set_output(0, value_);
    return OkStatus();
  }

 private:
  Result<Tensor> ReadValue() const {
    PosixFileSystem files;
    ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, files.OpenForReading(path_));
    ASSIGN_OR_RETURN(const uint64_t size, file->Size());
    // Before memory is taken for bytes that are not there.
    const auto n = static_cast<uint64_t>(shape_.num_elements());
    if (n > size / DTypeSize(dtype_)) {
      return Internal("file '", path_, "' has ", size, " bytes, too few for ", dtype_, shape_);
    }
    ASSIGN_OR_RETURN(Tensor value, Tensor::AllocateHost(dtype_, shape_));
    RETURN_IF_ERROR(ReadExactly(*file, 0, value.mutable_raw_data(), value.bytes()));
    return value;
  }

  const std::string path_;
  const DType dtype_;
  const Shape shape_;
  Mutex mutex_;
  Tensor value_ GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(immutable_const, cpu) {
  registry.Add<ImmutableConstCpu>("ImmutableConst", kCpu).Cost(KernelCost::kExpensive);
}
