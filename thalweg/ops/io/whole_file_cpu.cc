// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/base/file_system.h"
#include "thalweg/io/matching_paths.h"
#include "thalweg/kernel/charged_file.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Result<std::string> FileName(const Tensor& name) {
  if (name.rank() == 0) return name.scalar<std::string>();
  return InvalidArgument("Input filename tensor must be scalar, but had shape: ", name.shape());
}

Status ReadWhole(Context& ctx) {
  HeapCharge charge;  // until the executor charges the output
  ASSIGN_OR_RETURN(const std::string name, FileName(ctx.input(0)));
  ASSIGN_OR_RETURN(std::string contents, ReadFile(ctx.allocator(), charge, name));
  Tensor out = Tensor::Scalar(std::string());
  *out.mutable_data<std::string>() = std::move(contents);
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status WriteWhole(Context& ctx) {
  PosixFileSystem fs;
  ASSIGN_OR_RETURN(const std::string name, FileName(ctx.input(0)));
  const Tensor& contents = ctx.input(1);
  if (contents.rank() != 0) {
    return InvalidArgument("Contents tensor must be scalar, but had shape: ", contents.shape());
  }
  RETURN_IF_ERROR(fs.MakeDirectories(ParentDirectory(name)));
  ASSIGN_OR_RETURN(const auto file, fs.OpenForWriting(name));
  RETURN_IF_ERROR(file->Append(contents.scalar<std::string>()));
  return file->Close();
}

Status MatchingFiles(Context& ctx) {
  const Tensor& patterns = ctx.input(0);
  if (patterns.rank() > 1) {
    return InvalidArgument("Input patterns tensor must be scalar or vector, but had shape: ",
                           patterns.shape());
  }
  PosixFileSystem fs;
  std::vector<std::string> names;
  for (int64_t i = 0; i < patterns.num_elements(); ++i) {
    if (ctx.work().cancelled()) return CancelledStep();
    ASSIGN_OR_RETURN(const std::vector<std::string> some,
                     MatchingPaths(fs, patterns.data<std::string>()[i]));
    // As in TensorFlow, a name without a folder is one of the folder ".".
    const bool here = patterns.data<std::string>()[i].find('/') == std::string::npos;
    for (const std::string& name : some) names.push_back(here ? "./" + name : name);
  }
  std::sort(names.begin(), names.end());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString,
                                                    Shape{static_cast<int64_t>(names.size())}));
  std::move(names.begin(), names.end(), out->mutable_data<std::string>());
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(whole_file, cpu) {
  registry.AddFunction<MatchingFiles>("MatchingFiles", kCpu);
  registry.AddFunction<ReadWhole>("ReadFile", kCpu);
  registry.AddFunction<WriteWhole>("WriteFile", kCpu);
}
