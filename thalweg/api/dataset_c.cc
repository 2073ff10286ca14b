// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that build input pipelines: the builder, stages without functions,
// datasets themselves.
#include <limits>

#include "thalweg/api/dataset_builder.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

void SetText(std::string* to, const char* text) {
  Guard(nullptr, [&] {
    *to = text == nullptr ? "" : text;
    return OkStatus();
  });
}

// A stage whose elements are those of `dataset`, with counts as its inputs.
const TwDataset* SameElements(TwDatasetBuilder* builder, const char* name, const char* op,
                              const TwDataset* dataset, const std::vector<TwCount>& counts = {}) {
  return MakeDataset(builder, name, [&](DatasetStage& stage) {
    std::vector<Output> inputs;
    for (const TwCount& count : counts) inputs.push_back(stage.Number(count));
    return stage.Same(dataset, op, inputs);
  });
}

// Shapes with one dimension more in front.
ElementSpec Batched(ElementSpec spec, const TwCount& size, bool is_whole) {
  const int64_t first = is_whole && size.scalar.node == nullptr ? size.value : -1;
  for (PartialShape& shape : spec.shapes) shape = PartialShape({first}).Concatenate(shape);
  return spec;
}

// What the components of padded elements are, and the constants that say it.
struct Padding {
  ElementSpec spec;
  std::vector<Output> shapes, values;
};

Padding PaddingOf(DatasetStage& stage, const ElementSpec& elements, const TwTensorSpec* shapes,
                  const TwOutput* values) {
  const auto n = static_cast<int32_t>(elements.types.size());
  Padding padding{elements, {}, {}};
  if (values != nullptr) padding.values = stage.Given(values, n, "value");
  for (int32_t i = 0; i < n && stage.ok(); ++i) {
    PartialShape& shape = padding.spec.shapes[i];
    if (shapes != nullptr && shapes[i].rank >= 0) {
      Result<PartialShape> given = UnwrapShape(shapes[i]);
      if (given.ok()) shape = *std::move(given);
      stage.Fail(given.status());
    }
    if (!shape.known_rank()) {
      stage.Fail(InvalidArgument("the rank of component ", i, " is not known: say its shape"));
      break;
    }
    padding.shapes.push_back(
        stage.Vector(std::vector<int64_t>(shape.dims().begin(), shape.dims().end())));
    if (values != nullptr) continue;
    const DType dtype = elements.types[i];
    padding.values.push_back(dtype == DType::kString
                                 ? stage.Scalar(std::string())
                                 : stage.Op("Cast", {stage.Scalar<int32_t>(0)}, {{"DstT", dtype}}));
  }
  return padding;
}

}  // namespace

extern "C" {

TwDatasetBuilder* tw_dataset_builder_new(TwGraph* graph) {
  if (graph == nullptr) return nullptr;
  return Quietly<TwDatasetBuilder*>(nullptr, [&] {
    auto builder = std::make_unique<TwDatasetBuilder>();
    builder->outside = *graph;
    return builder.release();
  });
}

void tw_dataset_builder_free(TwDatasetBuilder* builder) { delete builder; }

void tw_dataset_builder_site(TwDatasetBuilder* builder, const char* site) {
  if (builder != nullptr) SetText(&builder->site, site);
}
void tw_dataset_builder_device(TwDatasetBuilder* builder, const char* device) {
  if (builder != nullptr) SetText(&builder->device, device);
}

TwCode tw_dataset_builder_check(TwDatasetBuilder* builder, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"the dataset builder", builder}}));
    if (!builder->status.ok()) builder->begun.clear();
    return std::exchange(builder->status, OkStatus());
  });
}

int32_t tw_dataset_num_components(const TwDataset* dataset) {
  return dataset == nullptr ? 0 : static_cast<int32_t>(dataset->elements.types.size());
}

int32_t tw_dataset_component(const TwDataset* dataset, int32_t i, TwTensorSpec* spec) {
  if (spec == nullptr || i < 0 || i >= tw_dataset_num_components(dataset)) return 0;
  const PartialShape& shape = dataset->elements.shapes[static_cast<size_t>(i)];
  *spec = {static_cast<TwDataType>(dataset->elements.types[static_cast<size_t>(i)]), shape.rank(),
           shape.dims().data()};
  return 1;
}

TwOutput tw_dataset_variant(const TwDataset* dataset) {
  return dataset == nullptr ? TwOutput{nullptr, 0} : Wrap(dataset->variant);
}

const TwDataset* tw_dataset_take(TwDatasetBuilder* builder, const TwDataset* dataset,
                                 TwCount count) {
  return SameElements(builder, "Take", "TakeDataset", dataset, {count});
}

const TwDataset* tw_dataset_skip(TwDatasetBuilder* builder, const TwDataset* dataset,
                                 TwCount count) {
  return SameElements(builder, "Skip", "SkipDataset", dataset, {count});
}

const TwDataset* tw_dataset_repeat(TwDatasetBuilder* builder, const TwDataset* dataset,
                                   TwCount count) {
  return SameElements(builder, "Repeat", "RepeatDataset", dataset, {count});
}

const TwDataset* tw_dataset_shard(TwDatasetBuilder* builder, const TwDataset* dataset,
                                  TwCount shards, TwCount index) {
  return SameElements(builder, "Shard", "ShardDataset", dataset, {shards, index});
}

const TwDataset* tw_dataset_ignore_errors(TwDatasetBuilder* builder, const TwDataset* dataset) {
  return SameElements(builder, "IgnoreErrors", "IgnoreErrorsDataset", dataset);
}

const TwDataset* tw_dataset_concatenate(TwDatasetBuilder* builder, const TwDataset* dataset,
                                        const TwDataset* more) {
  return MakeDataset(builder, "Concatenate", [&](DatasetStage& stage) -> TwDataset {
    if (!stage.Require(dataset, "the dataset") || !stage.Require(more, "what comes behind it")) {
      return {};
    }
    return stage.Next(dataset, "ConcatenateDataset", {more->variant},
                      CommonOf(stage, dataset->elements, more->elements));
  });
}

const TwDataset* tw_dataset_zip(TwDatasetBuilder* builder, const TwDataset* const* datasets,
                                int32_t n) {
  return MakeDataset(builder, "Zip", [&](DatasetStage& stage) -> TwDataset {
    stage.Fail(CheckArray(datasets, n, "dataset"));
    if (n == 0) stage.Fail(InvalidArgument("no datasets"));
    std::vector<Output> variants;
    ElementSpec spec;
    for (int32_t i = 0; i < n && stage.ok(); ++i) {
      if (!stage.Require(datasets[i], "a dataset")) return {};
      variants.push_back(datasets[i]->variant);
      spec = Joined(std::move(spec), datasets[i]->elements);
    }
    return stage.Source("ZipDataset", std::move(variants), std::move(spec));
  });
}

const TwDataset* tw_dataset_enumerate(TwDatasetBuilder* builder, const TwDataset* dataset,
                                      int64_t start) {
  return MakeDataset(builder, "Enumerate", [&](DatasetStage& stage) -> TwDataset {
    if (!stage.Require(dataset, "the dataset")) return {};
    constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
    const TwDataset numbers = RangeOf(stage, tw_count(start), tw_count(kEnd), tw_count(1));
    return stage.Source("ZipDataset", {numbers.variant, dataset->variant},
                        Joined(numbers.elements, dataset->elements));
  });
}

const TwDataset* tw_dataset_shuffle(TwDatasetBuilder* builder, const TwDataset* dataset,
                                    TwCount buffer_size, const int64_t* seed,
                                    int32_t reshuffle_each_iteration) {
  return MakeDataset(builder, "Shuffle", [&](DatasetStage& stage) {
    return ShuffledOf(stage, dataset, stage.Number(buffer_size), seed,
                      reshuffle_each_iteration != 0);
  });
}

const TwDataset* tw_dataset_cache(TwDatasetBuilder* builder, const TwDataset* dataset) {
  return MakeDataset(builder, "Cache", [&](DatasetStage& stage) {
    return stage.Same(dataset, "CacheDataset", {stage.Scalar(std::string())});
  });
}

const TwDataset* tw_dataset_prefetch(TwDatasetBuilder* builder, const TwDataset* dataset,
                                     TwCount buffer_size) {
  return SameElements(builder, "Prefetch", "PrefetchDataset", dataset, {buffer_size});
}

const TwDataset* tw_dataset_batch(TwDatasetBuilder* builder, const TwDataset* dataset,
                                  TwCount batch_size, int32_t drop_remainder) {
  return MakeDataset(builder, "Batch", [&](DatasetStage& stage) -> TwDataset {
    if (!stage.Require(dataset, "the dataset")) return {};
    const bool drops = drop_remainder != 0;
    return stage.Next(dataset, "BatchDatasetV2", {stage.Number(batch_size), stage.Scalar(drops)},
                      Batched(dataset->elements, batch_size, drops));
  });
}

const TwDataset* tw_dataset_padded_batch(TwDatasetBuilder* builder, const TwDataset* dataset,
                                         TwCount batch_size, const TwTensorSpec* shapes,
                                         const TwOutput* values, int32_t drop_remainder) {
  return MakeDataset(builder, "PaddedBatch", [&](DatasetStage& stage) -> TwDataset {
    if (!stage.Require(dataset, "the dataset")) return {};
    const bool drops = drop_remainder != 0;
    Padding padding = PaddingOf(stage, dataset->elements, shapes, values);
    const auto n = static_cast<int64_t>(padding.shapes.size());
    std::vector<Output> inputs = Joined({dataset->variant, stage.Number(batch_size)},
                                        Joined(padding.shapes, padding.values));
    inputs.push_back(stage.Scalar(drops));
    ElementSpec spec = Batched(std::move(padding.spec), batch_size, drops);
    AttrMap attrs = {{"Toutput_types", spec.types}, {"output_shapes", spec.shapes}, {"N", n}};
    return {stage.Op("PaddedBatchDatasetV2", std::move(inputs), std::move(attrs)), std::move(spec)};
  });
}

const TwDataset* tw_dataset_unbatch(TwDatasetBuilder* builder, const TwDataset* dataset) {
  return MakeDataset(builder, "Unbatch", [&](DatasetStage& stage) -> TwDataset {
    if (!stage.Require(dataset, "the dataset")) return {};
    return stage.Next(dataset, "UnbatchDataset", {}, RowsOf(stage, dataset->elements));
  });
}

const TwDataset* tw_dataset_window(TwDatasetBuilder* builder, const TwDataset* dataset,
                                   TwCount size, TwCount shift, TwCount stride,
                                   int32_t drop_remainder) {
  return MakeDataset(builder, "Window", [&](DatasetStage& stage) -> TwDataset {
    if (!stage.Require(dataset, "the dataset")) return {};
    const size_t n = dataset->elements.types.size();
    return stage.Next(dataset, "WindowDataset",
                      {stage.Number(size), stage.Number(shift), stage.Number(stride),
                       stage.Scalar(drop_remainder != 0)},
                      {std::vector<DType>(n, DType::kVariant),
                       std::vector<PartialShape>(n, PartialShape(Shape()))});
  });
}

}  // extern "C"
