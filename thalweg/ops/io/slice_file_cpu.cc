// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/slice_file_reader.h"
#include "thalweg/io/slice_file_writer.h"
#include "thalweg/ops/io/checkpoint_arguments.h"

namespace thalweg {
namespace {

// `slices` is null where all tensors are whole.
Status Write(Context& ctx, const std::string* slices, int first) {
  const int n = ctx.num_inputs() - first;
  RETURN_IF_ERROR(CheckText(ctx.input(0), 1, "filename"));
  RETURN_IF_ERROR(CheckText(ctx.input(1), n, "tensor_names"));
  const auto* names = ctx.input(1).data<std::string>();
  PosixFileSystem fs;
  ASSIGN_OR_RETURN(const auto writer,
                   SliceFileWriter::Create(fs, ctx.input(0).data<std::string>()[0]));
  for (int i = 0; i < n; ++i) {
    const Tensor& value = ctx.input(first + i);
    if (slices == nullptr || slices[i].empty()) {
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

Status Save(Context& ctx) { return Write(ctx, nullptr, 2); }

Status SaveSlices(Context& ctx) {
  RETURN_IF_ERROR(CheckText(ctx.input(2), ctx.num_inputs() - 3, "shapes_and_slices"));
  return Write(ctx, ctx.input(2).data<std::string>(), 3);
}

// preferred_shard says where to look first, which changes nothing: all files are looked at.
class RestoreCpu : public Kernel {
 public:
  explicit RestoreCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}
  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckText(ctx.input(0), 1, "file_pattern"));
    RETURN_IF_ERROR(CheckText(ctx.input(1), 1, "tensor_name"));
    std::string slice;
    if (ctx.num_inputs() > 2) {
      RETURN_IF_ERROR(CheckText(ctx.input(2), 1, "shape_and_slice"));
      slice = ctx.input(2).data<std::string>()[0];
    }
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(const auto reader,
                     SliceFileReader::Open(fs, ctx.input(0).data<std::string>()[0]));
    ASSIGN_OR_RETURN(Tensor value, ReadFrom(*reader, ctx.input(1).data<std::string>()[0], slice,
                                            dtype_, ctx.allocator()));
    ctx.set_output(0, std::move(value));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(slice_file, cpu) {
  registry.AddFunction<Save>("Save", kCpu).Cost(KernelCost::kExpensive);
  registry.AddFunction<SaveSlices>("SaveSlices", kCpu).Cost(KernelCost::kExpensive);
  registry.Add<RestoreCpu>("Restore", kCpu).Cost(KernelCost::kExpensive);
  registry.Add<RestoreCpu>("RestoreSlice", kCpu).Cost(KernelCost::kExpensive);
}
