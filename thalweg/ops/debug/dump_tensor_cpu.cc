// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/file_system.h"
#include "thalweg/base/mutex.h"
#include "thalweg/compute/summary/stored_zlib.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// The lengths of the texts, then the texts.
std::string ContentOfTexts(const Tensor& tensor) {
  std::string content;
  for (const std::string& text : tensor.flat<std::string>()) AppendVarint(content, text.size());
  for (const std::string& text : tensor.flat<std::string>()) content += text;
  return content;
}

// A TensorProto that holds all values in tensor_content, texts too.
Result<std::string> WholeTensor(const Tensor& tensor) {
  namespace tp = pb::TensorProto;
  if (tensor.dtype() != DType::kString && !IsPlain(tensor.dtype())) {
    return InvalidArgument("DumpTensor writes numbers and strings, got ", tensor.dtype());
  }
  OwnedMessage proto(pb::TensorProto::Descriptor());
  proto->SetInt(tp::kDtype, static_cast<int64_t>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto->Mutable(tp::kTensorShape));
  if (tensor.dtype() == DType::kString) {
    proto->SetString(tp::kTensorContent, ContentOfTexts(tensor));
  } else {
    proto->SetBorrowed(tp::kTensorContent,
                       {static_cast<const char*>(tensor.raw_data()), tensor.bytes()});
  }
  return Serialize(*proto);
}

// LOG_DIR/quant_unit.pb says whose tensor it is: node_name (2) and func_name (3).
Status WriteUnit(FileSystem& fs, const std::string& directory, const KernelConstruction& c) {
  std::string unit;
  for (const auto& [name, tag] : {std::pair("node_name", '\x12'), std::pair("func_name", '\x1a')}) {
    ASSIGN_OR_RETURN(const std::string value, c.Attr<std::string>(name));
    if (value.empty()) continue;
    unit += tag;
    AppendVarint(unit, value.size());
    unit += value;
  }
  return WriteFileAtomically(fs, StrCat(directory, "/quant_unit.pb"), unit);
}

// A file of records under zlib, LOG_DIR/FILE_NAME. It begins anew with the kernel and is whole when
// the kernel has ended, as TensorFlow's.
class DumpTensorCpu : public Kernel {
 public:
  DumpTensorCpu(std::unique_ptr<WritableFile> file, bool enabled)
      : enabled_(enabled), file_(std::move(file)) {}
  ~DumpTensorCpu() override {
    MutexLock lock(mutex_);
    // Nobody is there to be told.
    if (file_->Append(zlib_.Add("", true)).ok()) static_cast<void>(file_->Close());
  }

  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string directory, c.Attr<std::string>("log_dir_path"));
    ASSIGN_OR_RETURN(const std::string name, c.Attr<std::string>("file_name"));
    ASSIGN_OR_RETURN(const bool enabled, c.Attr<bool>("enabled"));
    PosixFileSystem fs;
    RETURN_IF_ERROR(fs.MakeDirectories(directory));
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                     fs.OpenForWriting(StrCat(directory, "/", name)));
    RETURN_IF_ERROR(WriteUnit(fs, directory, c));
    return std::unique_ptr<Kernel>(std::make_unique<DumpTensorCpu>(std::move(file), enabled));
  }

  Status Compute(Context& ctx) override {
    if (!enabled_) return OkStatus();
    ASSIGN_OR_RETURN(const std::string tensor, WholeTensor(ctx.input(0)));
    MutexLock lock(mutex_);
    return file_->Append(zlib_.Add(FrameRecord(tensor)));
  }

 private:
  const bool enabled_;
  Mutex mutex_;
  const std::unique_ptr<WritableFile> file_ GUARDED_BY(mutex_);
  compute::StoredZlib zlib_ GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dump_tensor, cpu) { registry.Add<DumpTensorCpu>("DumpTensor", kCpu); }
