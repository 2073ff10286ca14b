// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "thalweg/data/iteration.h"
#include "thalweg/data/saved_dataset.h"
#include "thalweg/data/snapshot.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

std::string TextAttr(const DatasetAttrs& attrs, std::string_view name) {
  const AttrValue* const value = attrs.all.Find(name);
  const std::string* const text = value != nullptr ? value->GetIf<std::string>() : nullptr;
  return text == nullptr ? std::string() : *text;
}

// "AUTO" is left to the library: what is not compressed is read back fastest.
Result<Compression> SavedCompression(const DatasetAttrs& attrs) {
  const std::string name = TextAttr(attrs, "compression");
  return CompressionNamed(name == "NONE" || name == "AUTO" ? "" : name);
}

Result<DatasetPtr> MakeSaved(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(std::string path, TextArgument(ctx, 1, "path"));
  ASSIGN_OR_RETURN(const Compression compression, SavedCompression(attrs));
  ElementFunctionPtr shard;
  if (attrs.Flag("use_shard_func", true)) {
    ASSIGN_OR_RETURN(shard, FunctionArgument(ctx, attrs, "shard_func", input->spec().types));
  }
  return SavedDataset(input, std::move(path), compression, std::move(shard));
}

// Makes a pass over the dataset that writes to its end.
class SaveCpu : public AsyncKernel {
 public:
  explicit SaveCpu(DatasetAttrs attrs) : attrs_(std::move(attrs)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<SaveCpu>(std::move(attrs)));
  }

  void ComputeAsync(Context& ctx, Done done) override {
    Result<std::shared_ptr<Iteration>> made = PassOf(ctx);
    if (!made.ok()) return std::move(done)(made.status());
    const std::shared_ptr<Iteration>& iteration = *made;
    const auto told = std::make_shared<Done>(std::move(done));
    iteration->Do(
        ctx.step().cancellation,
        [](const Poller& poller, Stage& stage) -> Result<Poll> {
          while (true) {
            RETURN_IF_ERROR(poller.Look());
            Element element;
            ASSIGN_OR_RETURN(const Poll poll, stage.Next(poller, &element));
            if (poll != Poll::kElement) return poll;
          }
        },
        [told, iteration](const Result<Poll>& poll) {
          iteration->Stop();
          std::move (*told)(poll.status());
        });
  }

 private:
  Result<std::shared_ptr<Iteration>> PassOf(Context& ctx) const {
    ASSIGN_OR_RETURN(const DatasetPtr saved, MakeSaved(ctx, attrs_));
    return Iteration::Make(saved, ctx.step());
  }

  const DatasetAttrs attrs_;
};

// The reader's function makes one dataset of a dataset of those of the shards.
Result<DatasetPtr> MakeLoaded(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const std::string path, TextArgument(ctx, 0, "path"));
  ASSIGN_OR_RETURN(const Compression compression, SavedCompression(attrs));
  ASSIGN_OR_RETURN(ElementFunctionPtr reader,
                   FunctionArgument(ctx, attrs, "reader_func", {DType::kVariant}));
  return LoadedDataset(path, compression, attrs.spec, std::move(reader), ctx.device().allocator());
}

Result<DatasetPtr> MakeSnapshot(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const std::string path, TextArgument(ctx, 1, "path"));
  SnapshotOptions options;
  ASSIGN_OR_RETURN(options.compression, SavedCompression(attrs));
  ASSIGN_OR_RETURN(options.reader, FunctionArgument(ctx, attrs, "reader_func", {DType::kVariant}));
  ASSIGN_OR_RETURN(options.shard, FunctionArgument(ctx, attrs, "shard_func", input->spec().types));
  if (attrs.Flag("hash_valid", false)) {
    int64_t number = 0;  // its default is not among the attributes given
    if (const AttrValue* const hash = attrs.all.Find("hash")) {
      ASSIGN_OR_RETURN(number, hash->Get<int64_t>());
    }
    options.folder = StrCat(static_cast<uint64_t>(number));
  }
  return SnapshotDataset(std::move(input), path, std::move(options));
}

// The snapshot of 1.15: in one shard, read as it was written.
Result<DatasetPtr> MakeFirstSnapshot(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const std::string path, TextArgument(ctx, 1, "path"));
  const std::string mode = TextAttr(attrs, "mode");
  if (attrs.Flag("shuffle_on_read", false) || !(mode.empty() || mode == "auto")) {
    return Unimplemented("snapshots that are shuffled, or of the mode '", mode,
                         "': take SnapshotDatasetV2, whose functions say how shards are read");
  }
  SnapshotOptions options;
  ASSIGN_OR_RETURN(options.compression, SavedCompression(attrs));
  options.folder = TextAttr(attrs, "snapshot_name");
  return SnapshotDataset(std::move(input), path, std::move(options));
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_saved, cpu) {
  registry.Add<SaveCpu>("SaveDataset", kCpu);
  AddDataset<MakeSaved>(registry, "SaveDatasetV2");
  AddDataset<MakeLoaded>(registry, "LoadDataset");
  AddDataset<MakeSnapshot>(registry, "SnapshotDatasetV2");
  AddDataset<MakeFirstSnapshot>(registry, "SnapshotDataset");
}
