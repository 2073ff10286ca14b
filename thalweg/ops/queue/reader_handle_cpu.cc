// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/ops/queue/reader.h"

namespace thalweg {
namespace {

// Makes the source of a reader; what the attributes say has been checked.
using MakeSource = std::function<std::unique_ptr<RecordSource>(FileSystem&)>;

Result<int64_t> SizeAttr(const KernelConstruction& c, const char* name, int64_t least) {
  ASSIGN_OR_RETURN(const int64_t value, c.Attr<int64_t>(name));
  if (value >= least) return value;
  return InvalidArgument(name, " must be >= ", least, " but found ", value);
}

// The old operation has no such attribute.
Result<Compression> EncodingOf(const KernelConstruction& c) {
  if (c.node().FindAttr("encoding") == nullptr) return Compression::kNone;
  ASSIGN_OR_RETURN(const std::string encoding, c.Attr<std::string>("encoding"));
  return CompressionNamed(encoding);
}

Result<MakeSource> SourceOf(const KernelConstruction& c, std::string_view kind) {
  if (kind == "FixedLengthRecordReader") {
    PieceForm form;
    ASSIGN_OR_RETURN(form.compression, EncodingOf(c));
    ASSIGN_OR_RETURN(form.header_bytes, SizeAttr(c, "header_bytes", 0));
    ASSIGN_OR_RETURN(form.record_bytes, SizeAttr(c, "record_bytes", 1));
    ASSIGN_OR_RETURN(form.footer_bytes, SizeAttr(c, "footer_bytes", 0));
    ASSIGN_OR_RETURN(form.hop_bytes, SizeAttr(c, "hop_bytes", 0));
    return MakeSource([form](FileSystem& fs) { return MakePieceSource(fs, form); });
  }
  if (kind == "TextLineReader") {
    LineForm form;
    ASSIGN_OR_RETURN(form.skip_lines, SizeAttr(c, "skip_header_lines", 0));
    return MakeSource([form](FileSystem& fs) { return MakeLineSource(fs, form); });
  }
  if (kind == "TFRecordReader") {
    ASSIGN_OR_RETURN(const std::string name, c.Attr<std::string>("compression_type"));
    ASSIGN_OR_RETURN(const Compression kind, CompressionNamed(name));
    return MakeSource([kind](FileSystem& fs) { return MakeRecordFileSource(fs, kind); });
  }
  if (kind == "LMDBReader") {
    return MakeSource([](FileSystem& fs) { return MakeLmdbSource(fs); });
  }
  if (kind == "WholeFileReader") {
    return MakeSource([](FileSystem& fs) { return MakeWholeFileSource(fs); });
  }
  return MakeSource([](FileSystem&) { return MakeIdentitySource(); });
}

class ReaderHandleCpu : public HandleKernel {
 public:
  ReaderHandleCpu(const KernelConstruction& c, const ResourceName& name, std::string kind,
                  MakeSource make)
      : HandleKernel(c, name, "tensorflow::ReaderInterface"),
        kind_(std::move(kind)),
        make_(std::move(make)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const ResourceName name, ResourceName::Of(c));
    std::string kind = c.node().op_name();
    if (kind.ends_with("V2")) kind.resize(kind.size() - 2);
    ASSIGN_OR_RETURN(MakeSource make, SourceOf(c, kind));
    return std::unique_ptr<Kernel>(
        std::make_unique<ReaderHandleCpu>(c, name, std::move(kind), std::move(make)));
  }

 private:
  Result<RefPtr<Resource>> Get(ResourceManager& resources) override {
    ASSIGN_OR_RETURN(
        RefPtr<Reader> reader,
        resources.LookupOrCreate<Reader>(
            place().container, place().name, [&]() -> Result<RefPtr<Reader>> {
              auto fs = std::make_unique<PosixFileSystem>();
              auto source = make_(*fs);
              return RefPtr<Reader>::Adopt(
                  std::make_unique<Reader>(kind_, place().name, std::move(fs), std::move(source))
                      .release());
            }));
    if (reader->kind() != kind_) {
      return InvalidArgument("Shared reader '", place().name, "' is a ", reader->kind(),
                             " but requested was a ", kind_);
    }
    return RefPtr<Resource>::Adopt(reader.release());
  }

  const std::string kind_;
  const MakeSource make_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(reader_handle, cpu) {
  for (const char* kind : {"FixedLengthRecordReader", "IdentityReader", "TFRecordReader",
                           "TextLineReader", "WholeFileReader"}) {
    for (const char* version : {"", "V2"}) {
      registry.Add<ReaderHandleCpu>(StrCat(kind, version), kCpu).Cost(KernelCost::kCheap);
    }
  }
  registry.Add<ReaderHandleCpu>("LMDBReader", kCpu).Cost(KernelCost::kCheap);
}
