// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "thalweg/data/batching.h"
#include "thalweg/data/iteration.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/data/mapping.h"
#include "thalweg/data/memory_sources.h"
#include "thalweg/data/saved_dataset.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

Result<std::string> SavedCompression(const DatasetAttrs& attrs) {
  const AttrValue* const value = attrs.all.Find("compression");
  const std::string* const name = value != nullptr ? value->GetIf<std::string>() : nullptr;
  return name == nullptr || *name == "NONE" ? std::string() : *name;
}

Result<DatasetPtr> MakeSaved(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(std::string path, TextArgument(ctx, 1, "path"));
  ASSIGN_OR_RETURN(const std::string compression, SavedCompression(attrs));
  if (!compression.empty()) {
    return Unimplemented("datasets are saved uncompressed, compression is '", compression, "'");
  }
  ElementFunctionPtr shard;
  if (attrs.Flag("use_shard_func", true)) {
    ASSIGN_OR_RETURN(shard, FunctionArgument(ctx, attrs, "shard_func", input->spec().types));
  }
  return SavedDataset(std::move(input), std::move(path), std::move(shard));
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
  ASSIGN_OR_RETURN(const std::string name, SavedCompression(attrs));
  ASSIGN_OR_RETURN(const Compression compression, CompressionNamed(name));
  ASSIGN_OR_RETURN(std::vector<DatasetPtr> shards, SavedShards(path, compression, attrs.spec));
  const ElementSpec one = {{DType::kVariant}, {PartialShape(Shape())}};
  auto kept = std::make_shared<KeptElements>("Load");
  for (DatasetPtr& shard : shards) {
    ASSIGN_OR_RETURN(Tensor variant, TensorOf(std::move(shard)));
    RETURN_IF_ERROR(kept->Push(ctx.device().allocator(), {std::move(variant)}));
  }
  ASSIGN_OR_RETURN(Tensor all, TensorOfList(std::move(kept), one));
  ASSIGN_OR_RETURN(ElementFunctionPtr reader,
                   FunctionArgument(ctx, attrs, "reader_func", {DType::kVariant}));
  return InterleaveDataset(OneElementDataset({std::move(all)}, one), std::move(reader), attrs.spec,
                           {});
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_saved, cpu) {
  registry.Add<SaveCpu>("SaveDataset", kCpu);
  AddDataset<MakeSaved>(registry, "SaveDatasetV2");
  AddDataset<MakeLoaded>(registry, "LoadDataset");
}
